"""The check-up of `heartbit doctor`: each check is one function; none of them changes anything."""

"""Mail: connections to mail servers, and parsing of mails as hostile input."""

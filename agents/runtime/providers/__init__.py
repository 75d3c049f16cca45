"""Model providers of a run: accounts and models, with limits, breakers and budgets."""

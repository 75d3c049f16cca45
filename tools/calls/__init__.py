"""Pipeline between a model's call and a tool: parsing, rights, approval, answers of people."""

"""Quality of answers, measured on labelled questions: ``make evals``."""

"""The pages for people who use agents: runs, approvals, chat and fleet, under a strict policy."""

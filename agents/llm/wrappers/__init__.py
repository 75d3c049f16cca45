"""Cross-cutting behaviour of models, one wrapper a file; each is a ``ChatModel`` around another.

Usage, from the inside out::

    limited = LimitedModel(adapter, limiter, account="openai:main", limits=Limits(500, 200_000))
    guarded = BreakerModel(limited, breaker, account="openai:main")
    model = FallbackModel((RetryingModel(guarded, RetryPolicy()), other))
    bounded = BudgetedModel(model, purse, cost)
"""

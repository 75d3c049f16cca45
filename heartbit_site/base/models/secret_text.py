"""A column that holds an encrypted secret."""

from __future__ import annotations

from typing import Any

from django.db import models


class SecretTextField(models.TextField):  # type: ignore[type-arg]
    """The stored form of a secret (``heartbit_site.base.secrets``); empty when there is none.

    The type marks the column: forms leave it out, and ``rotate_secrets`` finds it by its type. Its
    model needs a ``workspace``.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("editable", False)
        kwargs.setdefault("blank", True)
        kwargs.setdefault("default", "")
        super().__init__(*args, **kwargs)

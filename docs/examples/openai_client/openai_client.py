"""OpenAI's own client: `python openai_client.py Why are bees important?`.

It needs a web process, OPENAI_BASE_URL (the web process's address with /v1) and a key of Heartbit
in OPENAI_API_KEY.
"""

from __future__ import annotations

import sys

from openai import OpenAI


def main(question: str, agent: str = "writer") -> None:
    """Stream an answer of an agent, ask on in its conversation, and say which run it was."""
    with OpenAI() as client:
        sys.stderr.write(f"models: {', '.join(model.id for model in client.models.list())}\n")
        chunks = client.chat.completions.create(
            model=agent, messages=[{"role": "user", "content": question}], stream=True
        )
        for chunk in chunks:
            if chunk.choices:
                sys.stdout.write(chunk.choices[0].delta.content or "")
        sys.stdout.write("\n")
        first = client.responses.create(model=agent, input=question)
        then = client.responses.create(
            model=agent, input="Say it shorter.", previous_response_id=first.id
        )
        sys.stdout.write(f"{first.output_text}\n{then.output_text}\n")
        sys.stderr.write(f"run {first.id.removeprefix('resp_')}\n")


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or "Why are bees important?")

#!/usr/bin/env python3
"""Calls a running simulator with the official Gemini and OpenAI clients.

Run it with any Python 3.10 or later: it makes a virtual environment beside itself, installs `google-genai` and
`openai` from PyPI into it, and starts itself again there. It exits with 1 if any check fails.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import urllib.request
import venv

HERE = pathlib.Path(__file__).resolve().parent
MODEL = "gemini-3.5-flash-lite"
PROMPT = """<passage n="1" title="Plans">
Plans renew every month. You can cancel a plan in Billing.
</passage>
<passage n="2" title="Badges">
Badges show roles. To reset a badge, open Settings and choose Reset.
</passage>
<question>
How do I reset my badge?
</question>"""

FAILED = []


def in_venv(folder):
    """Starts this script again with the clients at hand."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    packages = ["google-genai", "openai"]
    subprocess.check_call([python, "-m", "pip", "install", "--quiet", *packages])
    os.execv(python, [str(python), *sys.argv, "--in-venv"])


def check(name, condition, seen=""):
    print(f"{'ok  ' if condition else 'FAIL'} {name}" + ("" if condition else f": {seen!r}"))
    if not condition:
        FAILED.append(name)


def faults(base, plan):
    body = json.dumps(plan).encode()
    request = urllib.request.Request(f"{base}/admin/faults", data=body, method="PUT")
    urllib.request.urlopen(request).read()


def raised(call):
    """What a call raises; None if it goes well."""
    try:
        call()
    except Exception as error:  # whatever a client makes of it is what is looked at
        return error
    return None


def check_gemini(base, version):
    from google import genai
    from google.genai import types

    options = types.HttpOptions(base_url=base, api_version=version, timeout=12_000)
    client = genai.Client(api_key="k", http_options=options)
    models, name = client.models, f"google-genai {version}"

    reply = models.generate_content(model=MODEL, contents=PROMPT)
    check(f"{name}: generate", "Settings and choose Reset [2]" in reply.text, reply.text)
    check(f"{name}: usage", reply.usage_metadata.total_token_count > 50, reply.usage_metadata)

    chunks = list(models.generate_content_stream(model=MODEL, contents=PROMPT))
    check(f"{name}: stream equals the whole", "".join(c.text for c in chunks) == reply.text, chunks)
    check(f"{name}: stream has chunks", len(chunks) > 2, len(chunks))
    finish = chunks[-1].candidates[0].finish_reason
    check(f"{name}: stream finishes", finish == types.FinishReason.STOP, finish)

    full = types.GenerateContentConfig(
        system_instruction="be brief", max_output_tokens=64, temperature=0.2, seed=7,
        stop_sequences=["END"], response_mime_type="application/json",
        response_schema={"type": "OBJECT", "properties": {"answer": {"type": "STRING"}}},
        thinking_config=types.ThinkingConfig(thinking_level="LOW"),
    )
    reply = models.generate_content(model=MODEL, contents="hi", config=full)
    check(f"{name}: JSON mode", "answer" in (reply.parsed or {}), reply.text)

    for model in ("gemini-embedding-001", "gemini-embedding-2"):
        config = types.EmbedContentConfig(output_dimensionality=768, task_type="RETRIEVAL_QUERY")
        reply = models.embed_content(model=model, contents="reset a badge", config=config)
        lengths = [len(e.values) for e in reply.embeddings]
        check(f"{name}: embed {model}", lengths == [768], lengths)

    check(f"{name}: count", models.count_tokens(model=MODEL, contents="abcdefgh").total_tokens == 2)
    names = [model.name for model in models.list()]
    check(f"{name}: list", f"models/{MODEL}" in names, names)

    def code(call):
        error = raised(call)
        return getattr(error, "code", error)

    ask = lambda model=MODEL, c=client: c.models.generate_content(model=model, contents="hi")
    check(f"{name}: missing model", code(lambda: ask("no-such-model")) == 404)
    bad = genai.Client(api_key="bad", http_options=options)
    check(f"{name}: bad key", code(lambda: ask(c=bad)) == 400)
    short = types.HttpOptions(base_url=base, api_version=version, timeout=2_500)
    short = genai.Client(api_key="k", http_options=short)
    check(f"{name}: short deadline", code(lambda: ask(c=short)) == 400)
    for kind, expected in [("rate_limited_minute", 429), ("unavailable", 503), ("html_502", 502),
                           ("deadline_exceeded", 504), ("internal", 500)]:
        faults(base, {"generate": {"kind": kind}})
        check(f"{name}: {kind}", code(ask) == expected)
    stream = lambda: list(models.generate_content_stream(model=MODEL, contents=PROMPT))
    for kind in ("midstream_error_raw", "midstream_error_event"):
        faults(base, {"generate": {"kind": kind}})
        check(f"{name}: {kind}", code(stream) == 503, code(stream))
    for kind in ("midstream_close", "reset_midstream"):
        faults(base, {"generate": {"kind": kind}})
        check(f"{name}: {kind}", raised(stream) is not None)
    # The client takes this for success, which is why the product must not rely on it.
    faults(base, {"generate": {"kind": "eof_without_finish"}})
    check(f"{name}: eof_without_finish", stream()[-1].candidates[0].finish_reason is None)
    for kind in ("thinking_exhausted", "blocked_prompt"):
        faults(base, {"generate": {"kind": kind}})
        check(f"{name}: {kind}", ask().text is None)
    faults(base, {})


def check_openai(base, path):
    import openai

    client = openai.OpenAI(api_key="k", base_url=base + path, max_retries=0)
    name = f"openai {path}"
    messages = [{"role": "user", "content": PROMPT}]
    chat = lambda **more: client.chat.completions.create(model=MODEL, messages=messages, **more)

    reply = chat(max_completion_tokens=200)
    text = reply.choices[0].message.content
    check(f"{name}: chat", "choose Reset [2]" in text, text)
    check(f"{name}: cap", chat(max_tokens=5).choices[0].finish_reason == "length")
    chunks = list(chat(stream=True, stream_options={"include_usage": True}))
    joined = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    check(f"{name}: stream equals the whole", joined == text, joined)
    check(f"{name}: usage", chunks[-1].choices == [] and chunks[-1].usage.total_tokens > 50)

    embed = lambda **more: client.embeddings.create(
        model="gemini-embedding-001", input=["a", "b"], dimensions=768, **more).data
    packed, plain = embed(), embed(encoding_format="float")
    close = all(abs(a - b) < 1e-6 for a, b in zip(packed[1].embedding, plain[1].embedding))
    check(f"{name}: base64 and float", len(packed[1].embedding) == 768 and close)
    check(f"{name}: models", len(client.models.list().data) > 2)

    for kind, expected in [("rate_limited_minute", openai.RateLimitError),
                           ("unavailable", openai.InternalServerError),
                           ("html_502", openai.InternalServerError)]:
        faults(base, {"generate": {"kind": kind}})
        error = raised(chat)
        check(f"{name}: {kind}", isinstance(error, expected), error)
    faults(base, {"generate": {"kind": "midstream_close"}})
    check(f"{name}: midstream_close", raised(lambda: list(chat(stream=True))) is not None)
    faults(base, {"generate": {"kind": "midstream_error_event"}})
    check(f"{name}: midstream_error_event", raised(lambda: list(chat(stream=True))) is not None)
    faults(base, {})
    bad = openai.OpenAI(api_key="bad", base_url=base + path, max_retries=0)
    error = raised(lambda: bad.models.list())
    check(f"{name}: bad key", getattr(error, "status_code", None) in (400, 401), error)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", default="http://127.0.0.1:8099", help="where the simulator listens")
    parser.add_argument("--venv", type=pathlib.Path, default=HERE / ".venv", help="where to install the clients")
    parser.add_argument("--in-venv", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not arguments.in_venv:
        in_venv(arguments.venv)
    for name in [name for name in os.environ if "PROXY" in name.upper()]:
        del os.environ[name]
    try:
        faults(arguments.base, {})
    except OSError as error:
        sys.exit(f"no simulator at {arguments.base} ({error}): start `kiwari simulate`, or name another with --base")
    for version in ("v1", "v1beta"):
        check_gemini(arguments.base, version)
    for path in ("/v1", "/v1beta/openai/"):
        check_openai(arguments.base, path)
    print(f"{len(FAILED)} failed" if FAILED else "all passed")
    sys.exit(1 if FAILED else 0)


if __name__ == "__main__":
    main()

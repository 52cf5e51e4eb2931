#!/usr/bin/env python3
"""Compares maglio's Jinja with the reference: Python's jinja2, set up as transformers sets it up.

Every template in models/templates/*.jinja (tools/fetch_test_data.py fetches them) is rendered with every conversation
of tests/data/chat/conversations.json by both. The texts must be the same, byte for byte; where Python raises, maglio
must refuse as well. The same holds for the snippets of tests/data/chat/snippets.txt, one a line, which use what those
templates do not.

    tests/jinja/oracle.py build/check/tests/render_jinja [--templates FOLDER] [--show N]

Exit code 77 where jinja2 or the templates are missing (CTest reports a skipped test).
"""
import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SKIPPED = 77
NOW = 1753700000  # 2025-07-28 10:53:20 UTC: what strftime_now tells in these tests
LEAST_TEMPLATES, LEAST_CONVERSATIONS = 40, 12


def make_environment():
    """As in transformers.utils.chat_template_utils."""
    import jinja2
    import jinja2.ext
    import jinja2.sandbox

    class Generation(jinja2.ext.Extension):
        tags = {"generation"}

        def parse(self, parser):
            line = next(parser.stream).lineno
            body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
            return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

        def _body(self, caller):
            return caller()

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def strftime_now(format):
        return datetime.datetime.fromtimestamp(NOW).strftime(format)

    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = strftime_now
    return environment


def context_of(conversation):
    return {"messages": conversation["messages"], "tools": conversation["tools"], "documents": None,
            "add_generation_prompt": conversation["add_generation_prompt"], "bos_token": "<s>", "eos_token": "</s>",
            **conversation["kwargs"]}


def expected(environment, source, conversations):
    """{"text": ...} or {"error": ...} for each conversation."""
    try:
        template = environment.from_string(source)
    except Exception as error:
        return [{"error": f"{type(error).__name__}: {error}"}] * len(conversations)
    answers = []
    for conversation in conversations:
        try:
            answers.append({"text": template.render(**context_of(conversation))})
        except Exception as error:
            answers.append({"error": f"{type(error).__name__}: {error}"})
    return answers


def found(program, paths, conversations):
    requests = [json.dumps({"template": str(path), "context": context_of(c), "now": NOW})
                for path in paths for c in conversations]
    result = subprocess.run([program], input="\n".join(requests) + "\n", capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in result.stdout.split("\n") if line]
    assert len(answers) == len(requests), result.stderr
    return answers


VARIABLES = {"s": "aBcdé", "l": [1, "a", 2.5], "d": {"b": 1, "a": "x", "C": None}, "u": "",
             "p": [{"n": "b", "a": 2}, {"n": "A", "a": 0}, {"n": "c", "a": 2}]}


def compare_snippets(environment, program):
    """How many snippets there are, and those that come out differently."""
    snippets = (ROOT / "tests/data/chat/snippets.txt").read_text(encoding="utf-8").splitlines()
    plain = {"messages": None, "tools": None, "add_generation_prompt": None, "kwargs": VARIABLES}
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder, f"{i:03}.jinja") for i in range(len(snippets))]
        for path, snippet in zip(paths, snippets):
            path.write_text(snippet, encoding="utf-8")
        answers = found(program, paths, [plain])
    different = []
    for snippet, have in zip(snippets, answers):
        want = expected(environment, snippet, [plain])[0]
        if want != have and not ("error" in want and "error" in have):
            different.append((snippet, want, have))
    return len(snippets), different


def main():
    parser = argparse.ArgumentParser(description="Compares maglio's Jinja with Python's jinja2.")
    parser.add_argument("program", help="render_jinja")
    parser.add_argument("--templates", type=pathlib.Path, default=ROOT / "models/templates")
    parser.add_argument("--show", type=int, default=5, help="differences to print in full")
    arguments = parser.parse_args()
    os.environ["TZ"] = "UTC"
    time.tzset()
    try:
        environment = make_environment()
    except ImportError:
        print("SKIPPED: jinja2 is not there (Debian: python3-jinja2)")
        return SKIPPED
    paths = sorted(arguments.templates.glob("*.jinja"))
    if not paths:
        print(f"SKIPPED: no templates in {arguments.templates}; tools/fetch_test_data.py fetches them")
        return SKIPPED
    conversations = json.loads((ROOT / "tests/data/chat/conversations.json").read_text(encoding="utf-8"))

    answers = iter(found(arguments.program, paths, conversations))
    n_rendered = n_raised = n_different = 0
    rendered_by = {}
    for path in paths:
        wanted = expected(environment, path.read_text(encoding="utf-8"), conversations)
        for conversation, want in zip(conversations, wanted):
            have = next(answers)
            if "text" in want and want == have:
                n_rendered += 1
                rendered_by[path.name] = rendered_by.get(path.name, 0) + 1
            elif "error" in want and "error" in have:
                n_raised += 1
            else:
                n_different += 1
                if n_different <= arguments.show:
                    print(f"{path.name}, {conversation['name']}:\n  Python {want}\n  maglio {have}")
    n_snippets, different = compare_snippets(environment, arguments.program)
    for snippet, want, have in different[:arguments.show]:
        print(f"{snippet}\n  Python {want}\n  maglio {have}")
    n_different += len(different)
    n_pairs = len(paths) * len(conversations)
    print(f"{len(paths)} templates x {len(conversations)} conversations = {n_pairs} pairs: {n_rendered} rendered the "
          f"same, {n_raised} refused by both; "
          f"{len(rendered_by)} templates rendered at least one; {n_snippets} snippets; {n_different} different")
    enough = len(rendered_by) >= LEAST_TEMPLATES and len(conversations) >= LEAST_CONVERSATIONS
    if not enough:
        print(f"too few: at least {LEAST_TEMPLATES} templates and {LEAST_CONVERSATIONS} conversations are promised")
    return 0 if enough and n_different == 0 else 1


if __name__ == "__main__":
    sys.exit(main())

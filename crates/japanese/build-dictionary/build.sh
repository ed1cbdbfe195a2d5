#!/bin/sh
# Rebuilds data/ja-unidic-k128.zst from the PyPI package unidic-lite 1.0.8.
# Needs pip, python3 with numpy, zstd and cargo. Takes a work directory as its only argument, or makes one.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
work=${1:-$(mktemp -d)}
python=${PYTHON:-python3}
mkdir -p "$work"
cd "$work"

"$python" -m pip download --quiet --no-deps --dest download unidic-lite==1.0.8
echo "db9d4572d9fdd4d00a97949d4b0741ec480ee05a7e7e2e32f547500dae27b245  download/unidic-lite-1.0.8.tar.gz" |
    sha256sum --check --quiet -
tar xzf download/unidic-lite-1.0.8.tar.gz
unidic=unidic-lite-1.0.8/unidic_lite/dicdir

"$python" "$here/decompile.py" "$unidic/sys.dic" words.csv
"$python" "$here/decompile.py" "$unidic/unk.dic" unknown.csv
"$python" "$here/compact.py" --words words.csv --unknown unknown.csv --matrix "$unidic/matrix.bin" --out tables

cargo run --quiet --release --manifest-path "$here/../Cargo.toml" --example pack_dictionary -- tables packed
zstd -19 --quiet --force packed -o ja-unidic-k128.zst
sha256sum packed ja-unidic-k128.zst
echo "compare with data/ja-unidic-k128.zst: $work/ja-unidic-k128.zst"

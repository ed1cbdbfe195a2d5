"""Turns a compiled MeCab dictionary back into its CSV lines.

usage: decompile.py SYS.DIC OUT.csv

A compiled dictionary is a header of ten 32-bit numbers and a charset, a double array (surface to tokens),
the tokens (context ids, cost, offset of the features) and the feature strings.
"""
import csv
import struct
import sys

import numpy as np

HEADER_BYTES = 72
DOUBLE_ARRAY = [("base", "<i4"), ("check", "<u4")]
TOKENS = [("left", "<u2"), ("right", "<u2"), ("pos", "<u2"), ("cost", "<i2"), ("features", "<u4"), ("compound", "<u4")]


def children_by_parent(check):
    """Positions of the double array's cells, grouped by the base of the node they hang on."""
    order = np.argsort(check, kind="stable")
    parents, starts = np.unique(check[order], return_index=True)
    ends = np.append(starts[1:], len(order))
    cells = order.tolist()
    return {int(parent): cells[start:end] for parent, start, end in zip(parents, starts, ends)}


def surfaces(double_array):
    """Yields (surface bytes, index of the first token, number of tokens) by walking the double array."""
    base = double_array["base"].tolist()
    children = children_by_parent(double_array["check"].astype(np.int64))
    stack = [(base[0], b"")]
    while stack:
        node, prefix = stack.pop()
        for cell in children.get(node, ()):
            byte = cell - node - 1
            if byte == -1:
                if base[cell] < 0:
                    value = -base[cell] - 1
                    yield prefix, value >> 8, value & 255
            elif 0 <= byte < 256 and cell != 0:
                stack.append((base[cell], prefix + bytes([byte])))


def decompile(path, out):
    with open(path, "rb") as file:
        data = file.read()
    numbers = struct.unpack_from("<10I", data, 0)
    double_array_bytes, token_bytes, feature_bytes = numbers[6:9]
    charset = data[40:HEADER_BYTES].split(b"\0")[0].decode()
    at = HEADER_BYTES
    double_array = np.frombuffer(data, DOUBLE_ARRAY, double_array_bytes // 8, at)
    at += double_array_bytes
    tokens = np.frombuffer(data, TOKENS, token_bytes // 16, at).tolist()
    at += token_bytes
    features = data[at : at + feature_bytes]
    with open(out, "w", encoding="utf-8", newline="") as file:
        quoted = csv.writer(file, lineterminator="")
        for surface, first, count in surfaces(double_array):
            for left, right, _, cost, offset, _ in tokens[first : first + count]:
                feature = features[offset : features.index(b"\0", offset)].decode(charset)
                quoted.writerow([surface.decode(charset), left, right, cost])
                # Features are CSV already.
                file.write("," + feature + "\n")


if __name__ == "__main__":
    decompile(sys.argv[1], sys.argv[2])

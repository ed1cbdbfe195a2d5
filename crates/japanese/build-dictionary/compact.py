"""Reduces UniDic to what search needs: fewer words, fewer context classes, lemmas instead of features.

usage: compact.py --words W.csv --unknown U.csv --matrix matrix.bin --out TABLES [--classes 128]

Writes TABLES.tsv, TABLES.mat and TABLES.unk for the pack_dictionary example.
"""
import argparse
import csv
import math
import re
import unicodedata

import numpy as np

CONTENT = {"名詞", "動詞", "形容詞", "形状詞", "接頭辞", "接尾辞"}
SYMBOLS = {"補助記号", "記号", "空白"}
HIRAGANA = re.compile(r"^[\u3041-\u309f\u30fc]+$")
JAPANESE = re.compile(r"^[\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0002ffff]+$")
# Context ids of the start and end of a text, and of unknown nouns: kept whatever the words use.
ALWAYS_USED = {0, 5139, 4785}
# Costs are logarithms of probabilities, scaled by about this.
COST_SCALE = 900
LEAST_WEIGHT = 1e-6
PROJECTED_DIMENSIONS = 150
K_MEANS_ROUNDS = 25
SEED = 1


def normal(text):
    return unicodedata.normalize("NFKC", text).lower()


def read_words(path):
    """Yields (surface, left id, right id, cost, content word, lemma) of the words to keep."""
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.reader(file):
            surface = normal(row[0])
            part, kind, subkind, conjugation = row[4], row[5], row[6], row[8]
            is_classical = "文語" in conjugation
            is_person = kind == "固有名詞" and subkind == "人名"
            if is_classical or is_person or part in SYMBOLS or not JAPANESE.match(surface):
                continue
            is_light = kind == "非自立可能" and HIRAGANA.match(surface)
            content = part in CONTENT and not is_light
            lemma = normal(row[11].split("-")[0]) or surface
            if kind == "固有名詞":
                lemma = surface
            yield surface, int(row[1]), int(row[2]), int(row[3]), int(content), lemma


def k_means(points, weights, count, start):
    """Labels of weighted k-means, grown greedily from `start` by the farthest points."""
    if len(points) <= count:
        return np.arange(len(points))
    centers = [start]
    distance = ((points - points[centers[0]]) ** 2).sum(1)
    for _ in range(count - 1):
        farthest = int(np.argmax(distance * weights))
        centers.append(farthest)
        distance = np.minimum(distance, ((points - points[farthest]) ** 2).sum(1))
    means = points[centers].copy()
    for _ in range(K_MEANS_ROUNDS):
        squares = (points**2).sum(1)[:, None] - 2 * points @ means.T + (means**2).sum(1)[None]
        labels = squares.argmin(1)
        for label in range(count):
            members = labels == label
            if members.any():
                weight = weights[members]
                means[label] = (points[members] * weight[:, None]).sum(0) / weight.sum()
    return labels


def project(rows, column_weights, rng):
    """Rows with columns weighted by use, in fewer dimensions."""
    weighted = np.clip(rows, -8000, 8000) * np.sqrt(column_weights / column_weights.sum())[None]
    directions = rng.standard_normal((rows.shape[1], PROJECTED_DIMENSIONS)).astype(np.float32)
    return weighted @ (directions / np.sqrt(PROJECTED_DIMENSIONS))


def own_class_for_the_boundary(labels):
    """Puts id 0, the start and end of a text, into a class of its own; returns dense labels and their count."""
    labels = labels.copy()
    labels[0] = labels.max() + 1
    values, dense = np.unique(labels, return_inverse=True)
    return dense, len(values)


def averaging(labels, count, weights):
    """The matrix that averages rows over their classes."""
    average = np.zeros((count, len(labels)), np.float32)
    average[labels, np.arange(len(labels))] = weights
    return average / average.sum(1, keepdims=True)


def main():
    parser = argparse.ArgumentParser()
    for name in ("words", "unknown", "matrix", "out"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--classes", type=int, default=128)
    arguments = parser.parse_args()

    numbers = np.fromfile(arguments.matrix, dtype="<i2")
    left_count, right_count = int(numbers[0]), int(numbers[1])
    costs = numbers[2:].reshape(right_count, left_count).T.astype(np.float32)
    words = list(read_words(arguments.words))

    # How much each context id is used: rows are the right ids of the word before, columns the left ids after.
    row_use = np.full(left_count, LEAST_WEIGHT)
    column_use = np.full(right_count, LEAST_WEIGHT)
    for _, left, right, cost, _, _ in words:
        use = math.exp(-cost / COST_SCALE)
        row_use[right] += use
        column_use[left] += use
    rows = sorted({word[2] for word in words} | ALWAYS_USED)
    columns = sorted({word[1] for word in words} | ALWAYS_USED)

    rng = np.random.default_rng(SEED)
    used = costs[np.ix_(rows, columns)]
    row_weight, column_weight = np.sqrt(row_use[rows]), np.sqrt(column_use[columns])
    row_labels = k_means(project(used, column_weight, rng), row_weight, arguments.classes, int(np.argmax(row_weight)))
    column_labels = k_means(
        project(used.T, row_weight, rng), column_weight, arguments.classes, int(np.argmax(column_weight))
    )
    row_labels, row_classes = own_class_for_the_boundary(row_labels)
    column_labels, column_classes = own_class_for_the_boundary(column_labels)
    averaged = (
        averaging(row_labels, row_classes, row_use[rows])
        @ used
        @ averaging(column_labels, column_classes, column_use[columns]).T
    )
    averaged = np.clip(np.round(averaged), -32768, 32767).astype("<i2")
    right_class = {right: int(label) for right, label in zip(rows, row_labels)}
    left_class = {left: int(label) for left, label in zip(columns, column_labels)}

    # Of entries that differ in nothing the lattice sees, the cheapest.
    best = {}
    for surface, left, right, cost, content, lemma in words:
        key = (surface, left_class[left], right_class[right])
        if key not in best or cost < best[key][0]:
            best[key] = (cost, content, lemma)
    with open(arguments.out + ".tsv", "w", encoding="utf-8") as file:
        for (surface, left, right), (cost, content, lemma) in sorted(
            best.items(), key=lambda item: (item[0][0].encode(), item[1][0])
        ):
            file.write(f"{surface}\t{left}\t{right}\t{cost}\t{content}\t{lemma}\n")
    with open(arguments.out + ".mat", "wb") as file:
        header = np.array([row_classes, column_classes, right_class[0], left_class[0]], "<u2")
        file.write(header.tobytes() + averaged.tobytes())
    with open(arguments.out + ".unk", "w", encoding="utf-8") as file, open(
        arguments.unknown, encoding="utf-8", newline=""
    ) as unknown:
        for row in csv.reader(unknown):
            left, right = int(row[1]), int(row[2])
            if row[4] == "名詞" and left in left_class and right in right_class:
                file.write(f"{row[0]}\t{left_class[left]}\t{right_class[right]}\t{row[3]}\t{row[5]}{row[6]}\n")


if __name__ == "__main__":
    main()

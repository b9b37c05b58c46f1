"""
Keywords and unlabeled documents
================================

Find the documents of a topic, when all that you have is documents without labels and a few keywords. Documents with a
keyword are called positive, all others negative. This is label noise: many documents of the topic lack the keywords,
and some documents with a keyword belong elsewhere. The documents here are paragraphs of SciPy's documentation, which is
on this machine already. The topic is statistics; the other paragraphs are about signal processing.
"""

import inspect
import re
import sys

import matplotlib.pyplot as plt
import numpy as np
import scipy.signal
import scipy.stats
import torch
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

import symloss as sl

KEYWORDS = ["test", "distribution", "random"]


def paragraphs(module) -> list[str]:
    found = set()
    for name in module.__all__:
        text = (inspect.getdoc(getattr(module, name)) or "").partition("\nExamples\n")[0]
        found.update(part for part in text.split("\n\n") if len(re.findall("[a-z]{3,}", part)) >= 15)
    return sorted(found)


torch.set_num_threads(1)
topic, other = paragraphs(scipy.stats), paragraphs(scipy.signal)
documents = np.array(topic + other, dtype=object)
clean = np.repeat([1, -1], [len(topic), len(other)])
train, test = np.array_split(np.random.default_rng(0).permutation(len(documents)), 2)

# %%
# Two lines learn from the keywords. They are left out of the documents, so that the model must find other words that
# tell the topic:

texts, y = sl.corruption.from_keywords(documents[train], KEYWORDS)
ranker = make_pipeline(
    TfidfVectorizer(min_df=3, stop_words="english"), TruncatedSVD(100, random_state=0), sl.AUCClassifier("sigmoid")
).fit(texts, y)

# %%
# How noisy these labels are, and how well new documents are ranked, only this script knows:

pi, pi_prime = (np.mean(clean[train][y == label] == 1) for label in (1, -1))
print(f"{len(texts)} documents, {np.sum(y == 1)} of them with a keyword: pi = {pi:.2f}, pi' = {pi_prime:.2f}")
_, with_keyword = sl.corruption.from_keywords(documents[test], KEYWORDS)
print(f"AUC of the keywords alone on new documents: {sl.metrics.auc(with_keyword, clean[test]):.2f}")
print(f"AUC of the ranker: {sl.metrics.auc(ranker.decision_function(documents[test]), clean[test]):.2f}")

# %%
# The words that the ranker goes by, each scored as a document of one word:

words = ranker[0].get_feature_names_out()
scores = ranker.decision_function(words)
shown = np.argsort(scores)[[*range(12), *range(-12, 0)]]
figure, panel = plt.subplots(figsize=(6, 5.5), layout="constrained")
panel.barh(words[shown], scores[shown], color=np.where(scores[shown] > np.median(scores), "C0", "C1"))
panel.set(xlabel="score", title="What three keywords have taught")
panel.spines[["top", "right"]].set_visible(False)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=120)

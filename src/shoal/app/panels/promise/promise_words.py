"""The models and algorithms in plain words, with the attacker each one stops and the paper it comes from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Model:
    """A promise as a page explains it."""

    kind: str
    name: str
    formal: str
    """What papers call it."""
    stops: str
    not_stops: str
    changes: str
    """What is done to the data for it."""
    paper: str
    notes: str
    """The page of the documentation with how Shoal reads the paper."""


MODELS = (
    Model(
        "km",
        "A few items never single anyone out",
        "k^m-anonymity",
        "Somebody who knows up to m items of a person (saw them buy two products, knows two diagnoses) and looks for the row.",
        "Somebody who knows more than m items.",
        "Items become categories of a hierarchy, where they must.",
        "Terrovitis, Mamoulis, Kalnis: Privacy-preserving Anonymization of Set-valued Data, VLDB 2008",
        "papers/km-2008",
    ),
    Model(
        "k",
        "Every set has twins",
        "k-anonymity of transactions",
        "Somebody who knows all items of a person, however many, and looks for the row.",
        "With l = 1, somebody who only wants to know what the whole crowd has in common.",
        "Items are added to rows and removed from them until at least k rows are equal.",
        "Lin, Liu, Fournier-Viger, Hong: PTA, an Efficient System for Anonymizing Transaction Databases, 2017",
        "papers/pta-2017",
    ),
    Model(
        "table",
        "Every combination of columns has a crowd",
        "k-anonymity of tables",
        "Somebody who knows all columns that others may know (age, sex, postcode) and looks for the row.",
        "With l = 1, somebody who only wants to know what the whole crowd has in common.",
        "Values of these columns become ranges or categories.",
        "Samarati, Sweeney 1998; l: Machanavajjhala and others 2006; the clusters: Poulis and others 2013",
        "papers/rt-2013",
    ),
    Model(
        "rt",
        "Columns and a few items together never single anyone out",
        "(k,k^m)-anonymity",
        "Somebody who knows all columns that others may know and up to m items of the same person.",
        "Somebody who knows more than m items; somebody who only wants to learn what all candidates share.",
        "Rows with similar columns are published alike in them; items become groups inside each such class.",
        "Poulis, Loukides, Gkoulalas-Divanis, Skiadopoulos: Anonymizing Data with Relational and Transaction Attributes, 2013",
        "papers/rt-2013",
    ),
    Model(
        "lm",
        "And sensitive items stay unsure",
        "(k,l^m)-diversity",
        "The same attacker, who also wants to learn a sensitive item without knowing whose row is whose.",
        "Somebody who knows more than m items, or knows sensitive items already.",
        "As before; classes grow until no sensitive item stands in more than 1 of l rows.",
        "Poulis, Loukides, Gkoulalas-Divanis, Skiadopoulos 2013, section 5",
        "papers/rt-2013",
    ),
    Model(
        "diversity",
        "The sensitive value stays one of l",
        "matching l-diversity",
        "Somebody who finds the row of a person, and knows what the data themselves show (“men never have ovarian cancer”), and wants "
        "the sensitive value.",
        "Somebody who wants to know whether a person is in the data: all other columns are published as they are.",
        "Rows are put into buckets; inside each, the sensitive values are dealt anew.",
        "Li, Li: Injector, Mining Background Knowledge for Data Anonymization, CERIAS Tech Report 2008-29",
        "papers/injector-2008",
    ),
    Model(
        "constraints",
        "The sets that a policy names never single anyone out",
        "anonymity under constraints",
        "Somebody who knows items of a person that the policy protects together, and looks for the row.",
        "Somebody who knows items that the policy does not protect, or not together.",
        "Items are put together within the groups that the policy allows, and single ones are left out.",
        "Loukides, Gkoulalas-Divanis, Malin: COAT, Constraint-based Anonymization of Transactions, 2011",
        "guide/constraints",
    ),
    Model(
        "chunks",
        "Items stay as they are, in pieces",
        "k^m-anonymity in chunks",
        "Somebody who knows up to m items of a person and looks for the record they belong to.",
        "Somebody who wants to know whether anybody has an item, or what all records of a cluster share.",
        "Records are cut into pieces, and it is not published which belong together.",
        "Terrovitis, Liagouris, Mamoulis, Skiadopoulos: Privacy Preservation by Disassociation, PVLDB 5(10), 2012",
        "guide/disassociation",
    ),
)
"""In the order in which they are shown."""

ALGORITHM_WORDS: dict[str, dict[str, str]] = {
    "km": {
        "local": "Publishes an item as it is; where that would single someone out, as its category; where even that would, not at all.",
        "exact": "The cut through the hierarchy that loses least, with a proof.",
        "hybrid": "Also deletes single items where that costs less than a whole category.",
        "lra": "Decides row by row: the same item may stand as itself in one row and as a category in another.",
        "vpa": "As aa, in each top category by itself first; by the authors of the 2008 paper, in 2011.",
        "oa": "The optimal search of the 2008 paper; for a few dozen items.",
        "da": "The direct search of the 2008 paper.",
        "aa": "The fast search of the 2008 paper: single items first, then pairs.",
    },
    "k": {
        "split": "Puts similar rows side by side and splits them as well as it can. Ours.",
        "pta": "The system of the 2017 paper.",
        "gsc": "A rival in that paper: sorted rows, k at a time. Fast, loses more.",
        "gray-tsp": "A rival in that paper, with a genetic search. Slow.",
    },
    "table": {
        "better-of-two": "Forms classes in both of the ways below, and takes those that keep more of the columns.",
        "cluster": "Groups of nearest rows; slow on large tables.",
        "mondrian": "Cuts the table in halves again and again; fast on large tables.",
        "full-domain": "Every column at one level of its tree, the same in all rows; the best choice of levels, with a proof.",
        "top-down": "A cut through the tree of each column, the same in all rows, from the root down. By Fung and others, 2005.",
        "bottom-up": "The same from the values up; loses more. By Wang and others, 2004.",
    },
    "rt": {
        "joint": "Weighs columns against items, by the balance below, and keeps most of both. Ours.",
        "rmerge-r": "The columns lose at most delta; classes with near columns are merged.",
        "rmerge-t": "The columns lose at most delta; classes with near items are merged.",
        "rmerge-rt": "The columns lose at most delta; classes near in both are merged.",
        "tmerge-r": "The items lose at most delta, if that can be; classes with near columns are merged.",
        "tmerge-t": "The items lose at most delta, if that can be; classes with near items are merged.",
        "tmerge-rt": "The items lose at most delta, if that can be; classes near in both are merged.",
        "rfirst": "The columns come first: nothing is merged for the items.",
        "tfirst": "The items come first: columns become as coarse as that makes them.",
    },
    "diversity": {
        "injector": "The paper's buckets, made with the rules that an attacker may know.",
        "balanced": "The same promise with smaller buckets.",
        "anatomy": "Knows no rules: whoever knows some learns more.",
    },
    "constraints": {
        "weigh": "Puts items together where that costs less than leaving single ones out. Ours.",
        "coat": "Constraint by constraint, the rarest item is put together with others, or left out; of 2011.",
        "pcta": "Clusters of items, merged by the least loss until every constraint holds; of 2011.",
    },
    "chunks": {
        "disassociation": "Clusters of similar records, their items in chunks, and what is rare in several clusters counted in all."
    },
}
"""Per kind and algorithm, one line."""
ALGORITHM_WORDS["lm"] = ALGORITHM_WORDS["rt"]

PRICES = {
    "": "What the algorithm makes cheap unless asked",
    "information": "Information: what readers can no longer know",
    "ncp": "NCP: the share of all items or values that each category stands for, as in the papers",
}
"""What a search can be told to make cheap."""

L_KINDS = {
    "": "Different values: at least l of them in every crowd",
    "frequency": "How often each occurs: none in more than 1/l of a crowd",
}
"""What l counts; the first is usual."""
DISTANCES = {
    "": "As the columns are: numbers by rank, others all alike",
    "equal": "Any two are equally far",
    "ordered": "As far as their ranks: numbers by size, others by name",
}
"""How far two values of a sensitive column are from each other, for t."""
MISSING = {"unknown": "Unknown: it may be any value, and counts for none", "value": "A value of its own"}
UNLESS_KNOWN = "A cell without a sensitive value. Unless you know that nothing was to be said there, take it for unknown: that is safe."

"""Combinations that are impossible whatever the data hold: options of other algorithms, roles that a model does not take."""

from __future__ import annotations

from collections.abc import Mapping

from shoal.algorithms import ALGORITHMS, OF_SERIES
from shoal.errors import InputError, near_miss, option
from shoal.guarantees.registry import OF_SETS, check_counts_people, roles_for
from shoal.hierarchy.spec import is_made
from shoal.options import Place
from shoal.plan.model import K, Lm, Plan, Rt
from shoal.plan.places import dotted_path, short_form
from shoal.records.database.address import address_of, is_address, with_query
from shoal.records.layout import format_of
from shoal.records.records import Records
from shoal.records.roles import name_list
from shoal.records.spelling.local_forms import DATES
from shoal.records.stores.remote import has_scheme, is_remote, remote_of


def check_combinations(plan: Plan) -> None:
    """Raises for what is impossible whatever the data hold."""
    _check_addresses(plan)
    if not isinstance(plan.memory.get(("input", "path")), Records):  # they have their roles already
        _check_columns(plan)
        _check_sensitive(plan)
        _check_hierarchies(plan)
        _check_weights(plan)
    _check_algorithm(plan)
    _check_series(plan)
    for name, what in (("rules", "rules go"), ("report", "the report goes")):
        if getattr(plan.outputs, name, None) == "-":
            raise plan.refusal(
                ("outputs", name),
                f"{what} to a file of {'their' if name == 'rules' else 'its'} own, not to standard output; name one",
            )


def _check_addresses(plan: Plan) -> None:
    """An address is whole, has no password, which a plan is no place for, and has a table or a query."""
    given: list[tuple[Place, str]] = [(("input", "path"), plan.input.path)]
    if plan.outputs is not None:
        given.append((("outputs", "data"), plan.outputs.data))
    specs = plan.hierarchies if isinstance(plan.hierarchies, dict) else {"": plan.hierarchies}
    trees: list[tuple[Place, str]] = [
        (("hierarchies", name) if name else ("hierarchies",), spec) for name, spec in specs.items() if spec is not None
    ]
    for place, text in (*trees, *(() if plan.on_spark else given)):
        if is_remote(text):
            _check_remote(plan, place, text)
    for place, text in given:
        if not is_address(text):
            continue
        try:
            address = address_of(text)
            if address.table is not None:
                assert address.parts
        except InputError as error:
            raise plan.refusal_of(place, error) from None
        if address.secrets:
            raise plan.refusal(
                place,
                f"{address.shown}: a plan is no place for a password; leave it out, and give it in PGPASSWORD or ~/.pgpass",
            )
    try:
        with_query(plan.input.path, plan.input.query)
    except InputError as error:
        raise plan.refusal_of(("input", "query"), error) from None
    outputs = plan.outputs
    if outputs is not None and is_address(outputs.data) and outputs.certificate is None:
        raise plan.refusal(
            ("outputs",), f"a table has no place for its certificate; name a file for it ({option('certificate')})"
        )


def _check_remote(plan: Plan, place: Place, text: str) -> None:
    """An object has a whole address, without what may be a token, which a plan is no place for."""
    try:
        remote = remote_of(text)
    except InputError as error:
        raise plan.refusal_of(place, error) from None
    if remote.query and not plan.is_asked:
        raise plan.refusal(
            place,
            f"{remote.shown}: what follows the '?' may be a token, and a plan is no place for it; pass the address on the command line, "
            "or save the file to this machine",
        )


def _knows_columns(plan: Plan) -> bool:
    """Whether the columns that are named stand one by one; in options for standard input they may have commas between them."""
    return not (plan.is_asked and plan.input.path == "-")


def _words(plan: Plan) -> str:
    if plan.kind == "table":
        return f"{option('model', 'k')} on a table (a column is quasi)"
    return option("model", plan.kind)


def _check_columns(plan: Plan) -> None:
    kind, columns = plan.kind, plan.columns
    form = plan.input.format or format_of(plan.input.path)[0]
    if form == "dat":
        if columns:
            raise plan.refusal(("columns",), "FIMI text has no columns; leave them out")
        for name in ("separator", "numeric", "spelling"):
            if getattr(plan.input, name) is not None:
                raise plan.refusal(("input", name), "FIMI text has no columns; leave it out")
        if kind not in OF_SETS:
            raise plan.refusal(
                ("guarantee", "model"),
                f"{kind} is about tables, and FIMI text has no columns; take km, k or constraints",
            )
    for name, role in columns.items():
        if role is not None and role not in ("person", *roles_for(kind)):
            taken = ", ".join(roles_for(kind))
            hint = ""
            if kind in ("km", "constraints", "table") and role in ("quasi", "items"):
                hint = f"; for tables with items take {option('model', 'rt')}"
            elif kind == "km":
                model = "lm" if role == "sensitive" else "rt"
                hint = f"; for sets beside columns take {option('model', model)}, also without {option('quasi')}"
            elif plan.is_asked and kind == "k" and role == "quasi":  # in Python: elsewhere a quasi column makes it one
                hint = "; for tables without items take TableAnonymity"
            raise plan.refusal(
                ("columns", name), f"{_words(plan)} has no use for {option(role)}; give it one of {taken}{hint}"
            )
    if people := plan.of_role("person"):
        try:
            check_counts_people(kind, plan.algorithm or next(iter(ALGORITHMS[kind])))
        except InputError as error:
            raise plan.refusal_of(("columns", people[0]), error) from None
        if plan.on_spark:
            raise plan.refusal(
                ("columns", people[0]), f"on Spark, rows are counted, not people; leave out {option('person')}"
            )
    for role in ("id", "person", *(("items",) if kind in OF_SETS else ())):
        if len(several := plan.of_role(role)) > 1:
            raise plan.refusal(
                ("columns", several[1]),
                f"{several[0]!r} is there already ({option(role)}), and one is taken; give it another role, or drop it",
            )
    without = [name for name, role in columns.items() if role is None]
    if without:
        raise plan.refusal(
            ("columns", without[0]),
            f"it has no role{f' (nor have {len(without) - 1} more)' if len(without) > 1 else ''}; "
            f"give it one of {', '.join(roles_for(kind))}",
        )
    if (kind == "diversity" or (kind in ("rt", "lm") and plan.on_spark)) and not plan.of_role("quasi"):
        raise plan.refusal(
            ("columns",),
            f"no column is quasi, and {_words(plan)} is about what an attacker knows; name one with {option('quasi')}",
        )
    if kind in ("rt", "lm") and not plan.of_role("items") and not plan.on_spark:  # it takes the only column of sets
        raise plan.refusal(
            ("columns",),
            f"no column holds items, which {_words(plan)} needs; name one with {option('items')}, or take {option('model', 'k')}",
        )
    if kind in OF_SETS and plan.of_role("id"):
        is_long = plan.on_spark or plan.input.format == "long"
        if (sensitive := plan.of_role("sensitive")) or (is_long and plan.input.separator is not None):
            what = ("columns", sensitive[0]) if sensitive else ("input", "separator")
            raise plan.refusal(what, f"a long table ({option('id')}) has one item per row; leave it out, or the id")
    if plan.input.numeric is not None and kind in OF_SETS:
        raise plan.refusal(("input", "numeric"), "a file of sets has no columns of numbers; leave it out")
    for i, name in enumerate(plan.input.numeric or ()) if _knows_columns(plan) else ():
        if columns.get(name) not in ("quasi", "sensitive", "keep"):
            raise plan.refusal(
                ("input", "numeric", i), f"{name!r} is not a column of single values; name those with such a role"
            )
    for name, way in (plan.input.spelling or {}).items():
        _check_spelling(plan, name, way)


def _check_spelling(plan: Plan, name: str, way: str) -> None:
    place = ("input", "spelling", name)
    if plan.kind not in ("table", "rt", "lm") or plan.on_spark:
        what = "Spark" if plan.on_spark else _words(plan)
        raise plan.refusal(place, f"{what} reads values as they stand; leave it out")
    roles = ("quasi", "keep") if way in DATES else ("quasi",)
    if plan.columns.get(name, "quasi" if not _knows_columns(plan) else None) not in roles:
        raise plan.refusal(
            place,
            f"{name!r} is not a column that is {' or '.join(roles)}; others are published as they stand, so leave it out",
        )
    tree = plan.hierarchy.get(name) if isinstance(plan.hierarchy, Mapping) else None
    if tree is not None and not (isinstance(tree, str) and is_made(tree)):
        raise plan.refusal(place, "a hierarchy from a file names values as they stand; leave out one of the two")


def _check_sensitive(plan: Plan) -> None:
    kind, apart = plan.kind, plan.of_role("sensitive")
    ways: list[Place] = [("columns", name) for name in apart[:1]]
    ways += [(name,) for name in ("sensitive_items", "sensitive_file") if getattr(plan, name) is not None]
    for place in ways:
        if place[0] != "columns" and kind not in ("k", "rt", "lm"):
            what = "has no sensitive items" if kind in OF_SETS else "has sensitive columns, not items"
            raise plan.refusal(place, f"{_words(plan)} {what}; leave it out")
    if len(ways) > 1:
        raise plan.refusal(ways[1], f"{dotted_path(ways[0])} says already what is sensitive; leave one of them out")
    if len(apart) > 1 and kind == "diversity" and plan.algorithm != "anatomy":
        raise plan.refusal(
            ("algorithm",),
            f"{plan.algorithm or next(iter(ALGORITHMS[kind]))} takes one sensitive column, for its rules are about one; "
            "choose anatomy, which takes several, or name one column",
        )
    if len(apart) > 1 and kind not in ("table", "diversity", "lm") and getattr(plan.guarantee, "t", None) is None:
        raise plan.refusal(
            ("columns", apart[1]),
            f"{apart[0]!r} is sensitive already, and {_words(plan)} takes one; give it another role",
        )
    if kind == "diversity" and not apart:
        raise plan.refusal(
            ("columns",), "no column is sensitive, and diversity is about what an attacker wants to learn; name one"
        )
    if kind == "lm" and not ways:
        raise plan.refusal(
            ("guarantee", "model"),
            f"lm needs sensitive items or columns; name them, or the column of the items ({option('sensitive')})",
        )
    for name in ("missing", "t", "distance") if kind == "lm" else ("missing", "l_kind", "t", "distance"):
        if getattr(plan.guarantee, name, None) is not None:
            _check_setting(plan, name, apart)
    if isinstance(plan.guarantee, K) and not ways:
        for name, asked in (("l", plan.guarantee.l > 1), ("t", plan.guarantee.t is not None)):
            if asked:
                given = getattr(plan.guarantee, name)
                raise plan.refusal(
                    ("guarantee", name), f"it is {given}, but nothing is sensitive; name what is, or leave it out"
                )
    if isinstance(plan.guarantee, Rt | Lm) and plan.guarantee.t is not None and not apart and _knows_columns(plan):
        raise plan.refusal(
            ("guarantee", "t"),
            "it is about sensitive columns of one value a row, and none is named; name one, or leave it out",
        )


def _check_setting(plan: Plan, name: str, sensitive: tuple[str, ...]) -> None:
    """What is said of the values of sensitive columns has columns to be about, and a number that it belongs to."""
    asked: Place = ("guarantee", name)
    if plan.kind == "k":
        why = "; in sets an empty cell means no items" * (name == "missing")
        raise plan.refusal(asked, f"it is for a sensitive column of a table, one value a row{why}; leave it out")
    if isinstance(plan.guarantee, K | Rt | Lm):
        diverse, close = getattr(plan.guarantee, "l", 1) > 1, plan.guarantee.t is not None
        needs = {"missing": ("l or t", diverse or close), "l_kind": ("l", diverse), "distance": ("t", close)}
        if name in needs and not needs[name][1]:
            why = ": nothing sensitive is counted" * (name == "missing")
            raise plan.refusal(asked, f"it has no use without {needs[name][0]}{why}; leave it out")
    if name == "t" and plan.options.limits:
        raise plan.refusal(
            asked,
            f"limits cut the table into blocks, and it is about the whole table; leave it out, or {option('limits')}",
        )
    given = getattr(plan.guarantee, name)
    for column in given if isinstance(given, dict) and _knows_columns(plan) else ():
        if column not in sensitive:
            why = ", and its missing values are a value of their own" * (name == "missing")
            raise plan.refusal((*asked, column), f"the column is not sensitive{why}; leave it out")


_TREELESS = {
    "k": "adds and removes items and",
    "constraints": "goes by the groups of its policy, and",
    "chunks": "publishes items as they are and",
}


def _check_hierarchies(plan: Plan) -> None:
    kind, given = plan.kind, plan.hierarchies
    if kind in _TREELESS and (given is not None or plan.options.unknown is not None):
        place = ("hierarchies",) if given is not None else ("options", "unknown")
        raise plan.refusal(place, f"{option('model', kind)} {_TREELESS[kind]} has no use for it; leave it out")
    if isinstance(given, str) and kind in ("table", "diversity"):
        raise plan.refusal(
            ("hierarchies",), f"a hierarchy needs its column here; give {option('hierarchy', 'COL=SPEC')}"
        )
    if isinstance(given, dict):
        items = plan.of_role("items")
        known = {*(plan.of_role("quasi")), *((items[0] if len(items) == 1 else "+".join(items),) if items else ())}
        if kind == "km" and not items:
            raise plan.refusal(
                ("hierarchies",),
                f"there is one domain of items; give {option('hierarchy', 'SPEC')}, or name their column ({option('items')})",
            )
        for name in given if _knows_columns(plan) else ():
            if name not in known:
                raise plan.refusal(
                    ("hierarchies", name),
                    f"there is no such column that is generalized; {near_miss(name, known)}there are {name_list(sorted(known))}",
                )
    asked = plan.options.transaction
    if asked in ("aa", "exact", "hybrid") and not (
        isinstance(given, str) or (given and set(given) - {*plan.of_role("quasi")})
    ):
        raise plan.refusal(
            ("options", "transaction"),
            f"{asked} generalizes items along a hierarchy, and there is none for them; add it, or take sets",
        )


def _check_weights(plan: Plan) -> None:
    weights = plan.options.weights
    if plan.kind not in ("table", "rt", "lm") or not _knows_columns(plan):
        return
    quasi = plan.of_role("quasi")
    for setting in ("weights", "limits", "missing_quasi"):
        for name in getattr(plan.options, setting) or ():
            if name not in quasi:
                raise plan.refusal(
                    ("options", setting, name),
                    f"there is no such quasi column; {near_miss(name, quasi)}there are {name_list(sorted(quasi))}",
                )
    published = {*quasi, *plan.of_role("keep")}
    for name in plan.options.shift or ():
        if name not in published:
            raise plan.refusal(
                ("options", "shift", name),
                f"there is no such quasi or kept column; there are {name_list(sorted(published))}",
            )
    if weights is not None and not any(weights.get(name, 1) for name in quasi):
        raise plan.refusal(("options", "weights"), "they are all 0; give one column at least more than 0")


NO_SNAPSHOTS = (
    "snapshots are not for Spark: each is searched and audited together with all that is known of the same people, which is in the ledger, "
    "in the memory of one machine; use the local engine"
)


def _check_series(plan: Plan) -> None:
    """A series is for k^m-anonymity of sets, under one cut, its ledger on this machine."""
    if plan.series is None:
        return
    place: Place = ("series", "ledger")
    if plan.on_spark and plan.series.kind == "snapshots":
        raise plan.refusal(("series", "kind"), NO_SNAPSHOTS)
    if plan.kind != "km":
        raise plan.refusal(place, f"a series is for {option('model', 'km')}, and this is {_words(plan)}; leave it out")
    if plan.algorithm not in (None, *OF_SERIES):
        raise plan.refusal(
            ("algorithm",), f"a series has one cut for all its rows; choose {' or '.join(OF_SERIES)}, or leave it out"
        )
    if plan.algorithm == "exact" and plan.options.suppress:
        raise plan.refusal(
            ("options", "suppress"),
            f"exact chooses the cut of a series without deleting anything; choose {option('algorithm', 'hybrid')}, or leave it out",
        )
    if plan.keep_order:
        raise plan.refusal(("keep_order",), "rows that have waited would be told from new ones; leave it out")
    if plan.options.memory_limit is not None:
        raise plan.refusal(("options", "memory_limit"), "rows that wait are held in memory; leave it out")
    ledger = plan.path_of(plan.series.ledger)  # beside the plan, which may be in a store
    if has_scheme(ledger) or is_address(ledger) or ledger == "-":
        raise plan.refusal(place, "a ledger is for its owner alone; name a file on this machine")


def _check_algorithm(plan: Plan) -> None:
    if plan.kind == "chunks" and plan.on_spark:
        raise plan.refusal(("engine",), f"{option('model', 'chunks')} is made on one machine; leave it out")
    if plan.kind == "chunks" and plan.keep_order:
        raise plan.refusal(
            ("keep_order",),
            "in the order of the input, the pieces of a record could be put together again; leave it out",
        )
    known = ALGORITHMS[plan.kind]
    name = plan.algorithm or next(iter(known))
    if name not in known:
        raise plan.refusal(
            ("algorithm",),
            f"{short_form(name)} is not known for {_words(plan)}; {near_miss(name, known)}choose one of {', '.join(known)}",
        )
    for setting, value in plan.options:
        if value is None or setting in (*known[name].options, "unknown", "threads", "memory_limit"):
            continue
        users = [other for other, at in known.items() if setting in at.options]
        who = " and ".join([", ".join(users[:-1]), users[-1]] if len(users) > 1 else users)
        why = f"it is for {who}, not for {name}" if users else f"it has no use with {_words(plan)}"
        raise plan.refusal(("options", setting), f"{why}; leave it out")

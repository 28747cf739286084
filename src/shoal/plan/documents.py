"""Documents of YAML or JSON: read safely, with the line of each key.

Keys are texts however YAML would read them, so that a column may be called `no` or `2019` without quotes. Aliases are refused: nobody has
a use for them here, and a few lines of them can stand for gigabytes.
"""

from __future__ import annotations

import json
import os
from typing import Any

import yaml

from shoal.errors import InputError
from shoal.options import Place
from shoal.plan.places import dotted_path, short_form
from shoal.records.storage.journal import settle
from shoal.records.storage.streams import display_name, reading_errors
from shoal.records.stores.once import opened_file

MOST_BYTES = 1_000_000


def read_text_document(
    path: str | os.PathLike[str],
    what: str = "a plan holds paths, not data",
    most: int = MOST_BYTES,
    *,
    lines: dict[Place, int] | None = None,
) -> tuple[Any, bytes]:
    """What stands in a file of YAML or (by its name) JSON, and its bytes. `what` says why it is no longer than `most`.

    `lines` takes the line of each key; without it, all of YAML's values are texts as they stand.
    """
    name = display_name(path)
    settle(path)
    with reading_errors(path), opened_file(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise InputError(f"{name}: it has more than {most:,} bytes; {what}: is it another file?")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{name}: it is not UTF-8 text; save it as UTF-8") from None
    if name.lower().endswith(".json"):
        return _json_document(text, name), data
    return _yaml_document(text, name, {} if lines is None else lines, as_texts=lines is None), data


def _loader_of(text: str) -> Any:
    """A loader of YAML without aliases."""
    loader: Any = yaml.SafeLoader(text)
    compose = loader.compose_node

    def compose_node(parent: Any, index: Any) -> Any:
        if loader.check_event(yaml.AliasEvent):
            mark = loader.peek_event().start_mark
            raise yaml.MarkedYAMLError(problem="an alias (*) has no place here", problem_mark=mark)
        return compose(parent, index)

    loader.compose_node = compose_node
    return loader


def _yaml_document(text: str, name: str, lines: dict[Place, int], *, as_texts: bool) -> Any:
    """What stands in YAML text, and on which line each key."""
    try:
        loader = _loader_of(text)
        try:
            node = loader.get_single_node()
            return None if node is None else _node_value(loader, node, (), name, None if as_texts else lines)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}" if mark else "somewhere"
        what = (error.problem or error.context or "it cannot be parsed").splitlines()[0]
        raise InputError(f"{name}: {where} is not YAML ({what}); correct it, or put the text in quotes") from None
    except yaml.YAMLError:
        raise InputError(f"{name}: it is not YAML; save it as plain text") from None
    except RecursionError:
        raise InputError(f"{name}: it is nested too deeply; three levels are the most") from None


def _node_value(loader: Any, node: Any, place: Place, name: str, lines: dict[Place, int] | None) -> Any:
    """The value of a node, and the lines of its keys; without lines, values are texts as they stand."""
    line = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode) and node.tag == "tag:yaml.org,2002:map":
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            at = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise InputError(f"{name}: line {at} has a list or a mapping as a key; give a text")
            key = key_node.value
            if key in found:
                raise InputError(
                    f"{name}: {dotted_path((*place, key))} (line {at}): it stands there twice; leave one of them out"
                )
            if lines is not None:
                lines[(*place, key)] = at
            found[key] = _node_value(loader, value_node, (*place, key), name, lines)
        return found
    if isinstance(node, yaml.SequenceNode) and node.tag == "tag:yaml.org,2002:seq":
        return [_node_value(loader, part, (*place, i), name, lines) for i, part in enumerate(node.value)]
    if not isinstance(node, yaml.ScalarNode):
        raise InputError(
            f"{name}: line {line} has the tag {node.tag}; only texts, numbers, lists and mappings have a place here"
        )
    if lines is None:
        return node.value
    try:
        return loader.construct_object(node)
    except yaml.YAMLError:
        raise
    except Exception:  # a date in month 13, a number of 5,000 digits: whatever the constructors stumble over
        raise InputError(f"{name}: line {line} holds what is not a value; put it in quotes") from None


def _json_document(text: str, name: str) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in found if keys.count(key) > 1)
            raise InputError(f"{name}: the key {short_form(twice)} stands there twice; leave one of them out")
        return found

    def refuse(constant: str) -> Any:
        raise InputError(f"{name}: it holds {constant}, which is not a number; give one, or leave the key out")

    try:
        return json.loads(text, object_pairs_hook=unique, parse_constant=refuse) if text.strip() else None
    except json.JSONDecodeError as error:
        raise InputError(f"{name}: line {error.lineno} is not JSON ({error.msg}); correct it") from None
    except (ValueError, RecursionError):
        raise InputError(f"{name}: it is not JSON; correct it") from None

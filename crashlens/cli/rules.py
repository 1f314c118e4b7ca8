"""`crashlens rules`: what the rules say, and whether a rule file of your own does what it promises."""

import argparse
import json
import sys
from difflib import get_close_matches

from crashlens.cli.inputs import Subparsers, add_rules_option
from crashlens.errors import NoSuchInputError
from crashlens.rules import load
from crashlens.rules.own import only_own
from crashlens.scan.rule_trials import sightings, try_rules
from crashlens.views.rules import (
    item_called,
    item_json,
    item_text,
    listed_items,
    rules_json,
    rules_text,
    sightings_text,
    trials_text,
)

HELD, FAILED = 0, 1


def add_rules(commands: Subparsers) -> None:
    """Add the command to the parser."""
    rules = commands.add_parser(
        "rules",
        help="list and show rules, and try a rule file of your own",
        description="Shows what the rules say, and tries rule files of your own on their examples and on logs.",
    )
    actions = rules.add_subparsers(title="actions", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="one line per rule")
    listing.add_argument("--topic", default="", metavar="TOPIC", help="only line rules of this topic, such as gpu")
    listing.add_argument("--format", choices=("text", "json"), default="text", help="what is printed (text)")
    add_rules_option(listing)
    listing.set_defaults(run=run_list)
    showing = actions.add_parser("show", help="everything that one rule says")
    showing.add_argument("id", metavar="ID", help="id of a rule, step line, sequence or harmless row")
    showing.add_argument("--format", choices=("text", "json"), default="text", help="what is printed (text)")
    add_rules_option(showing)
    showing.set_defaults(run=run_show)
    trying = actions.add_parser(
        "test",
        help="try a rule file of your own",
        epilog="Exit status: 0 every example went as promised, 1 one did not, 2 a file could not be loaded.",
    )
    trying.add_argument("files", nargs="+", metavar="FILE", help="rule files (TOML)")
    trying.add_argument("--on", nargs="+", default=[], metavar="LOG", help="files and folders to try the rules on too")
    trying.set_defaults(run=run_test)


def run_list(options: argparse.Namespace) -> int:
    """Print one line, or one JSON object, per rule."""
    rule_set = load(*options.rules)
    items = listed_items(rule_set, options.topic)
    if options.format == "json":
        _print_json({"digest": rule_set.digest, "rules": rules_json(rule_set, items)})
    else:
        print(rules_text(rule_set, items))
    return HELD


def run_show(options: argparse.Namespace) -> int:
    """Print everything that one rule says."""
    rule_set = load(*options.rules)
    item = item_called(rule_set, options.id)
    if item is None:
        close = get_close_matches(options.id, [known.id for known in listed_items(rule_set, "")], n=3, cutoff=0.4)
        raise NoSuchInputError(
            f'There is no rule "{options.id}".',
            facts=[("close", ", ".join(close) or "none")],
            way_out=f"crashlens rules show {close[0]}" if close else "crashlens rules list",
        )
    if options.format == "json":
        _print_json(item_json(rule_set, item))
    else:
        print(item_text(rule_set, item))
    return HELD


def run_test(options: argparse.Namespace) -> int:
    """Load the files, try their examples, and show what they find in logs."""
    rule_set = load(*options.files)
    own = only_own(rule_set)
    trials = try_rules(
        rule_set, [*own.rules, *own.step_lines, *(row for row in own.harmless if row.id in rule_set.own)]
    )
    print(trials_text(trials))
    if options.on:
        print()
        print(sightings_text(sightings(rule_set, options.on)))
    return HELD if all(trial.held for trial in trials) else FAILED


def _print_json(document: object) -> None:
    json.dump(document, sys.stdout, ensure_ascii=False, indent=1)
    sys.stdout.write("\n")

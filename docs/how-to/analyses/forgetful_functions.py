# SPDX-License-Identifier: GPL-2.0-or-later
"""A strategy: one function forgets to flush. All that it has in flight is lost, and everything else persists.

forgetful_functions.py RUN PICTURE.png              by function: how many such states there are, and different images
forgetful_functions.py RUN PICTURE.png SECONDS      guests recover from them: whose stores are missed?
"""

import sys

import pandas

import fencepost


def forgetful(function):
    def strategy(point):
        lost = [item for item in point.items if item.function == function]
        if lost:
            yield point.all_but(*lost)

    return strategy


def functions(run):
    """All that have anything in flight at a crash point."""
    seen = set()
    run.states(lambda point: seen.update(item.function for item in point.items))
    return sorted(seen)


def counted(run):
    states = {function: run.states(forgetful(function)) for function in functions(run)}
    return pandas.DataFrame({"states": {function: len(found) for function, found in states.items()},
                             "images": {function: found.summary["images"] for function, found in states.items()}})


def judged(run, seconds):
    run.test(strategy=[forgetful(function) for function in functions(run)], seconds=seconds, minimize_seconds=None)
    verdicts = run.results("SELECT origin.state, image.verdict = 'pass' AS passes FROM origin JOIN image "
                           "ON image.number = origin.image WHERE image.verdict IS NOT NULL").set_index("state")["passes"]
    table = {}
    for function in functions(run):
        passes = verdicts.reindex([state.id for state in run.states(forgetful(function))]).dropna()
        table[function] = {"fail": int((passes == 0).sum()), "pass": int((passes == 1).sum())}
    return pandas.DataFrame(table).T


def main(path, picture, seconds=None):
    run = fencepost.Run(path)
    table = judged(run, float(seconds)) if seconds else counted(run)
    table = table.sort_values(table.columns[0], ascending=False)
    print(table.to_string())
    axes = table.plot.barh(figsize=(8, 0.4 * len(table) + 1.5), title="all that one function has in flight is lost")
    axes.invert_yaxis()
    axes.figure.tight_layout()
    axes.figure.savefig(picture)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""A session with a checkpoint that is killed again and again: run as a program, it forks the sessions and kills them.

The program makes the same calls every time, in steps; step k pushes batch k of the first stream. After a restart it
asks the session for its positions and goes on there. What the receivers have, and what is in the graph at the end, is
to be what an undisturbed session has.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from random import Random

from freshet import Session
from freshet.runtime.sinks import FileSink

EX = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
READINGS, ROOMS = EX + "readings", EX + "rooms"
ALL_TRIPLES = "SELECT * { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
LOADED_LATER = "ASK { <http://example.org/later> ?p ?o }"

QUERIES = {
    "seen": """
        PREFIX : <http://example.org/> REGISTER RSTREAM <seen> AS SELECT ?room (COUNT(?v) AS ?n) (SUM(?v) AS ?sum)
        FROM NAMED WINDOW <w> ON :readings [RANGE PT2S STEP PT0.5S] WHERE { WINDOW <w> { ?x :of ?room ; :value ?v } }
        GROUP BY ?room""",
    "named": """
        PREFIX : <http://example.org/> REGISTER ISTREAM <named> AS SELECT ?room ?name ?who
        FROM NAMED WINDOW <w> ON :readings [RANGE PT1S STEP PT0.5S]
        FROM NAMED WINDOW <r> ON :rooms [RANGE PT4S STEP PT1S]
        WHERE { ?room :name ?name . WINDOW <w> { ?x :of ?room } WINDOW <r> { ?who :enters ?room } }""",
    "gone": """
        PREFIX : <http://example.org/> REGISTER DSTREAM <gone> AS SELECT ?who ?room
        FROM NAMED WINDOW <r> ON :rooms [RANGE PT3S STEP PT1S] WHERE { WINDOW <r> { ?who :enters ?room } }""",
    "later": """
        PREFIX : <http://example.org/> SELECT ?x ?v ?name
        WHERE { STREAM :readings [RANGE 500ms] { ?x :of ?room . ?x :value ?v } ?room :name ?name }""",
}


def first_graph() -> str:
    return "".join(f'<{EX}room{n}> <{EX}name> "room {n}" .\n_:b{n} <{EX}floor> <{EX}room{n}> .\n' for n in range(4))


def later_graph() -> str:
    return f'<{EX}later> <{EX}is> _:b1 .\n<{EX}room5> <{EX}name> "five" .\n'


def batch(step: int) -> str:
    random = Random(step)
    lines = []
    for number in range(random.randrange(1, 4)):
        at = step * 20 + random.randrange(-150, 150)  # some are too late
        node = f"{at}\t_:x{step}n{number}"
        lines.append(f"{node} <{EX}of> <{EX}room{random.randrange(8)}> .")
        lines.append(f'{node} <{EX}value> "{random.randrange(9)}"^^<{XSD}integer> .')
    return "\n".join(lines)


def rooms_batch(step: int) -> str:
    random, at = Random(-step), step * 20
    person, room = f"<{EX}person{random.randrange(50)}>", f"<{EX}room{random.randrange(8)}>"
    named = f'{at}\t{room} <{EX}name> "renamed {random.randrange(30)}" .\n' if random.random() < 0.2 else ""
    left = f"{at}\t- <{EX}person{random.randrange(50)}> <{EX}enters> {room} .\n" if random.random() < 0.3 else ""
    if random.random() < 0.2:
        left += f'{at}\t- {room} <{EX}name> "renamed {random.randrange(30)}" .\n'
    return f"{named}{left}{at}\t{person} <{EX}enters> {room} ."


class Program:
    """The calls, and who receives the reports."""

    def __init__(self, session: Session, folder: Path, steps: int) -> None:
        self.session = session
        self.folder = folder
        self.steps = steps
        for name, text in (("first.nt", first_graph()), ("later.nt", later_graph())):
            (folder / name).write_text(text, encoding="utf-8")

    def receive(self, name: str):
        sink = FileSink(self.folder / "out" / name, resume=True)

        def receive(batch) -> None:
            sink.deliver(batch)
            sink.flush()

        return receive

    def begin(self, positions: dict) -> tuple[int, int]:
        """Make sure that streams and queries are there; gives how many batches of each stream are in."""
        session, known = self.session, set(self.session.engine.names)
        session.stream(READINGS, lateness_ms=100, absorb=[EX + "value"])
        session.stream(ROOMS, absorb=[EX + "name"], retracts=True)
        step = positions[READINGS].batches if READINGS in positions else 0
        if not self.is_loaded(f"ASK {{ <{EX}room3> <{EX}name> ?n }}"):
            session.load(self.folder / "first.nt", graph=None)
        for name in ("seen", "named", "gone"):
            if name in known or step == 0:
                session.register(QUERIES[name], on_batch=self.receive(name))
        if "later" in known:
            session.registered("later", on_batch=self.receive("later"))
        return step, positions[ROOMS].batches if ROOMS in positions else 0

    def is_loaded(self, text: str) -> bool:
        return bool(self.session.query(text).value)

    def run(self, positions: dict, acknowledge) -> None:
        session = self.session
        first, rooms = self.begin(positions)
        for step in range(first, self.steps):
            if step == self.steps // 5 and not self.is_loaded(LOADED_LATER):
                session.load(self.folder / "later.nt", graph=None)
                session.load(self.folder / "later.nt", graph=EX + "graph")
            if step == self.steps // 3 and "later" not in session.engine.names:
                session.register(QUERIES["later"], name="later", on_batch=self.receive("later"))
            if step == 2 * self.steps // 3 and "gone" in session.engine.names:
                session.unregister("gone")
            if step % 3 == 0 and step // 3 >= rooms:
                session.push(ROOMS, rooms_batch(step))
            if step % 10 == 0:
                session.advance(ROOMS, step * 20)
            session.push(READINGS, batch(step))
            acknowledge(step)

    def contents(self) -> dict:
        """What is to be the same in the end."""
        session = self.session
        rows = [sorted((k, str(v)) for k, v in row.items()) for row in session.bindings(session.query(ALL_TRIPLES))]
        streams = session.engine.streams
        counts = {iri: [each.elements, each.late, each.watermark_ms] for iri, each in streams.items()}
        return {"graph": sorted(rows), "streams": counts, "queries": sorted(session.engine.names)}


def disturbed(folder: Path, steps: int, last: bool) -> None:
    """One life of the session, until it is killed or done."""
    known = acknowledged_steps(folder)
    session = Session(checkpoint=folder / "checkpoint", checkpoint_seconds=0.03)
    positions = session.positions()
    found = positions[READINGS].batches if READINGS in positions else 0
    assert found >= known, f"{known} batches were acknowledged, {found} are there"
    with (folder / "acknowledged").open("ab", buffering=0) as file:
        file.truncate(found)  # which makes it longer where the last batch was taken but not acknowledged
        program = Program(session, folder, steps)
        program.run(positions, lambda step: file.write(b"."))
    if last:
        session.finish()
        contents = json.dumps(program.contents())
        session.close()
        (folder / "contents.json").write_text(contents, encoding="utf-8")


def undisturbed(folder: Path, steps: int) -> None:
    session = Session()
    program = Program(session, folder, steps)
    program.run({}, lambda step: None)
    session.finish()
    (folder / "contents.json").write_text(json.dumps(program.contents()), encoding="utf-8")


def kill_again_and_again(folder: Path, rounds: int, steps: int, seed: int) -> int:
    """Fork sessions and kill them; the last one may end. Gives how many were killed at work.

    Most are killed when they have done some more steps, however long that takes; some soon, while they recover.
    """
    random, killed = Random(seed), 0
    for number in range(rounds + 1):
        more = random.randrange(1, 3 * steps // (2 * rounds)) if random.random() < 0.75 else None
        delay = random.uniform(0.0, 0.005 if more else 0.2)
        done = acknowledged_steps(folder)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                disturbed(folder, steps, last=number == rounds)
                status = 0
            except BaseException as error:
                print(f"round {number}: {error!r}", file=sys.stderr, flush=True)
                raise
            finally:
                os._exit(status)
        if number < rounds:
            while more and acknowledged_steps(folder) < done + more and not has_ended(child):
                time.sleep(0.001)
            time.sleep(delay)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            killed += 1
        elif os.waitstatus_to_exitcode(status):
            raise SystemExit(f"round {number} failed")
    return killed


def acknowledged_steps(folder: Path) -> int:
    acknowledged = folder / "acknowledged"
    return acknowledged.stat().st_size if acknowledged.exists() else 0


def has_ended(child: int) -> bool:
    """Whether a child has ended; it is still to be waited for."""
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


if __name__ == "__main__":
    home, most, total, start = Path(sys.argv[1]), *map(int, sys.argv[2:])
    for name in ("killed", "whole"):
        (home / name).mkdir()
    undisturbed(home / "whole", total)  # kernels are ready from here on
    print(kill_again_and_again(home / "killed", most, total, start))

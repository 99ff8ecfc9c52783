"""The average temperature of each floor, from a recorded stream and a stored graph, in this process."""

from pathlib import Path

import freshet

HERE = Path(__file__).parent
EX = "http://example.org/house/"


def main() -> None:
    session = freshet.Session()
    session.load(HERE / "house.ttl")
    session.stream(EX + "temperature")
    query = session.register((HERE / "warmFloors.rq").read_text())
    session.push(EX + "temperature", (HERE / "readings.tnt").read_text())
    session.finish()
    for report in query.take():
        for row in sorted(report.bindings(), key=lambda row: row["floor"].value):
            floor = row["floor"].value.removeprefix(EX)
            average, readings = float(row["average"].lexical), row["readings"].lexical
            print(f"{report.time_ms // 1000:>3} s  {floor}  {average:.2f} degrees  {readings} readings")


if __name__ == "__main__":
    main()

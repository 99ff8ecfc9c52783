"""The web page as a person uses it, in a real browser against a real server."""

import re

import pytest

from http_server import ServerProcess
from waiting import wait_until

expect = pytest.importorskip("playwright.sync_api").expect

STREAM = "http://example.org/sensors"
WRONG = """PREFIX ex: <http://example.org/>
REGISTER RSTREAM <warm> AS
SELECT ?sensor ?lat ?long (MAX(?t) AS ?max)
FROM NAMED WINDOW <w> ON <http://example.org/sensors> [RANGE PT10S STEP PT5S]
WHERE { WINDOW <w> { ?sensor ex:temperature } ?sensor ex:lat ?lat ; ex:long ?long }
GROUP BY ?sensor ?lat ?long
"""
RIGHT = WRONG.replace("ex:temperature }", "ex:temperature ?t }")
PLACES = """@prefix ex: <http://example.org/> .
ex:north ex:lat 52.38 ; ex:long 4.90 .
ex:south ex:lat 52.33 ; ex:long 4.88 .
ex:east ex:lat 52.36 ; ex:long 4.95 .
"""


def reading(second: int, sensor: str, degrees: float) -> str:
    value = f'"{degrees}"^^<http://www.w3.org/2001/XMLSchema#decimal>'
    return f"{second * 1000}\t<http://example.org/{sensor}> <http://example.org/temperature> {value} .\n"


def readings(first: int, last: int) -> str:
    degrees = {"north": 18.0, "south": 22.5, "east": 20.0}
    return "".join(
        reading(second, sensor, start + (second * 7 % 11) / 4)
        for second in range(first, last)
        for sensor, start in degrees.items()
    )


@pytest.fixture
def serving(tmp_path):
    """A server that can be killed and started again on its port."""
    data = tmp_path / "places.ttl"
    data.write_text(PLACES)
    running = []

    def start(port: int = 0) -> ServerProcess:
        running.append(ServerProcess("-d", data, "--checkpoint", tmp_path / "checkpoint", port=port))
        return running[-1]

    yield start
    for server in running:
        if server.process.poll() is None:
            server.kill()


def push(server: ServerProcess, text: str) -> None:
    answer = server.send("POST", f"/streams/{STREAM}", text.encode(), Content_Type="application/x-timed-n-triples")
    assert answer.status == 200, answer.data


def test_from_an_empty_server_to_answers_after_a_restart(page, serving, screenshot):
    server = serving()
    page.goto(server.url)
    expect(page.get_by_text("There is no stream yet")).to_be_visible()
    expect(page.get_by_text("No query is registered")).to_be_visible()
    assert server.send("PUT", f"/streams/{STREAM}").status == 201
    expect(page.get_by_role("heading", name=STREAM)).to_be_visible()

    page.get_by_role("link", name="Write a query").click()
    editor = page.get_by_label("Query", exact=True)
    editor.fill(WRONG)
    problem = page.locator("#problem")
    expect(problem).to_contain_text("line 5, column")
    expect(page.locator(".t-error")).to_have_text("}")
    expect(page.get_by_role("button", name="Register")).to_be_disabled()
    screenshot("page-error")

    editor.fill(RIGHT)
    expect(problem).to_contain_text("continuous")
    page.get_by_role("button", name="Explain").click()
    expect(page.locator(".plan .operator").filter(has_text="Group").first).to_be_visible()
    screenshot("page-explain")
    page.get_by_role("button", name="Register").click()

    expect(page.get_by_text("No answer yet")).to_be_visible()
    push(server, readings(1, 31))
    table = page.get_by_role("region", name="Answers")
    expect(table.get_by_role("row")).to_have_count(4)
    expect(table).to_contain_text("north")
    screenshot("page-table")

    table.get_by_role("row").filter(has_text="north").get_by_role("button", name="Why?").click()
    why = page.get_by_role("region", name="Why this row")
    expect(why).to_contain_text("members of the group")
    expect(why.get_by_role("row").filter(has_text="temperature").first).to_contain_text("post:1/")
    expect(why.get_by_role("row").filter(has_text="lat").first).to_be_visible()
    screenshot("page-why")
    why.get_by_role("button", name="Close").click()
    expect(why).to_be_hidden()

    page.get_by_role("tab", name="Chart").click()
    expect(page.locator("figure polyline")).to_have_count(3)
    screenshot("page-chart")
    page.get_by_role("tab", name="Map").click()
    expect(page.locator("figure .mark circle")).to_have_count(3)
    expect(page.locator("figure")).to_contain_text("south")
    screenshot("page-map")
    page.get_by_role("tab", name="Plan").click()
    expect(page.locator(".plan")).to_contain_text("ms")

    page.get_by_role("tab", name="Table").click()
    port = int(re.search(r":(\d+)$", server.url)[1])
    server.kill()
    expect(page.locator("#connection")).to_have_text("reconnecting")
    server = serving(port)
    expect(page.locator("#connection")).to_have_text("connected")
    push(server, readings(31, 41))
    expect(page.get_by_text("the newest at 40 s")).to_be_visible()
    page.get_by_role("link", name="Overview").click()
    expect(page.get_by_role("link", name="warm")).to_be_visible()
    screenshot("page-overview")


def test_one_shot_queries_and_completion_by_keyboard(page, serving):
    server = serving()
    with page.expect_response("**/vocabulary"):
        page.goto(f"{server.url}#/query")
    editor = page.get_by_label("Query", exact=True)
    editor.fill("PREFIX ex: <http://example.org/>\nSELECT * WHERE { ?place ")
    editor.press("End")
    editor.press_sequentially("ex:la")
    expect(page.get_by_role("option", name="ex:lat", exact=True)).to_be_visible()
    editor.press("Enter")
    editor.press_sequentially(" ?lat }")
    expect(page.locator("#problem")).to_have_text("a query of the stored graph")
    editor.press("Control+Enter")
    expect(page.get_by_role("region", name="Answers").get_by_role("row")).to_have_count(4)
    expect(page.get_by_text("3 solutions")).to_be_visible()
    expect(page.get_by_role("button", name="Register")).to_be_disabled()  # only a query over windows is kept by name

    many = " ".join(str(number) for number in range(2500))
    editor.fill(f"SELECT * {{ VALUES ?x {{ {many} }} }}")
    expect(page.get_by_role("button", name="Run once")).to_be_enabled()
    page.get_by_role("button", name="Run once").click()
    expect(page.get_by_text("2,500 solutions, the first 1,000 are shown")).to_be_visible()
    expect(page.get_by_role("region", name="Answers").get_by_role("row")).to_have_count(1001)


LIVE = """PREFIX ex: <http://example.org/>
SELECT ?place ?lat ?level WHERE { ?place ex:lat ?lat OPTIONAL { ?place ex:level ?level } }
"""


def test_a_plain_query_runs_live(page, serving, screenshot):
    server = serving()
    assert server.send("PUT", f"/streams/{STREAM}?absorb=all").status == 201
    page.goto(f"{server.url}/#/query")
    page.get_by_label("Query", exact=True).fill(LIVE)
    expect(page.locator("#problem")).to_have_text("a query of the stored graph")
    page.get_by_role("button", name="Run live").click()
    table = page.get_by_role("region", name="Answers")
    expect(page.get_by_text("3 solutions, live.")).to_be_visible()
    expect(table.get_by_role("row")).to_have_count(4)

    north = "<http://example.org/north> <http://example.org/level>"
    for second, level in ((1, 7), (2, 9)):
        push(server, f'{second}000\t{north} "{level}"^^<http://www.w3.org/2001/XMLSchema#integer> .\n')
    expect(page.get_by_text("The last change added 1 and removed 0.")).to_be_visible()
    expect(table.get_by_role("row").filter(has_text="north")).to_have_count(2)  # without a level it is gone
    expect(page.locator("tr.new")).to_contain_text("9")
    server.send("POST", "/sparql", f"DELETE DATA {{ {north} 7 }}", Content_Type="application/sparql-update")
    expect(page.locator("tr.gone")).to_contain_text("7")
    server.send("POST", "/sparql", f"INSERT DATA {{ {north} 7 }}", Content_Type="application/sparql-update")
    expect(page.locator("tr.new")).to_contain_text("7")
    expect(page.locator("tr.gone")).to_have_count(0)
    screenshot("page-live")
    page.get_by_role("tab", name="Chart").click()
    page.get_by_label("Number").select_option("level")
    expect(page.locator("figure polyline")).to_have_count(1)
    screenshot("page-live-chart")

    port = int(re.search(r":(\d+)$", server.url)[1])
    server.kill()
    expect(page.locator("#connection")).to_have_text("reconnecting")
    server = serving(port)
    expect(page.get_by_text("4 solutions, live.", exact=True)).to_be_visible()  # the whole answer has come again
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("4 solutions, live. Stopped.")).to_be_visible()
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    screenshot("page-live-narrow")


def test_other_forms_run_live(page, serving):
    server = serving()
    assert server.send("PUT", f"/streams/{STREAM}?absorb=all").status == 201
    page.goto(f"{server.url}/#/query")
    push(server, "1000\t<http://example.org/a> <http://example.org/p> <http://example.org/b> .\n")
    page.get_by_label("Query", exact=True).fill("ASK { <http://example.org/b> <http://example.org/p> ?o }")
    expect(page.locator("#problem")).to_have_text("a query of the stored graph")
    page.get_by_role("button", name="Run live").click()
    table = page.get_by_role("region", name="Answers")
    expect(table).to_contain_text("no")
    push(server, "2000\t<http://example.org/b> <http://example.org/p> <http://example.org/c> .\n")
    expect(page.locator("tr.new")).to_contain_text("yes")
    expect(page.locator("tr.gone")).to_contain_text("no")
    for text in (
        "CONSTRUCT { ?o <http://example.org/q> ?s } WHERE { ?s <http://example.org/p> ?o }",
        "DESCRIBE <http://example.org/b>",
    ):
        page.get_by_label("Query", exact=True).fill(text)
        expect(page.locator("#problem")).to_have_text("a query of the stored graph")
        page.get_by_role("button", name="Run live").click()
        expect(page.get_by_text(re.compile("solutions, live"))).to_be_visible()
        expect(table).to_contain_text("<http://example.org/b>")


def test_what_cannot_run_live_says_so(page, serving):
    server = serving()
    page.goto(f"{server.url}/#/query")
    page.get_by_label("Query", exact=True).fill("SELECT * { SERVICE <http://127.0.0.1:1/sparql> { ?s ?p ?o } }")
    problem, editor = page.locator("#problem"), page.get_by_label("Query", exact=True)
    expect(problem).to_have_text("a query of the stored graph")
    held = []
    page.route("**/explain", lambda route: held.append(route))  # the check of the text answers after its refusal
    with page.expect_request("**/explain"):
        editor.press("End")
        editor.press_sequentially(" ")
        page.get_by_role("button", name="Run live").click()
        expect(problem).to_have_class(re.compile("error"))
    wait_until(lambda: page.evaluate("0") or held, seconds=60)  # the call lets the handler run
    with page.expect_response("**/explain") as answered:
        held[0].continue_()
    answered.value.finished()
    page.evaluate("new Promise(requestAnimationFrame)")
    expect(problem).to_have_class(re.compile("error"))
    page.unroute("**/explain")
    editor.fill(RIGHT)
    expect(page.get_by_role("button", name="Run live")).to_be_disabled()


def test_all_views_fit_a_narrow_screen_in_light_and_dark(page, serving, screenshot):
    server = serving()
    assert server.send("PUT", f"/streams/{STREAM}").status == 201
    assert server.send("PUT", "/queries/warm", RIGHT.encode()).status == 201
    push(server, readings(1, 31))
    page.set_viewport_size({"width": 400, "height": 800})
    for place in ("", "#/query", "#/query/warm", "#/rejects"):
        page.goto(f"{server.url}/{place}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, place
    page.goto(f"{server.url}/#/query/warm")
    page.get_by_role("button", name="Switch between light and dark").click()
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Switch between light and dark").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark


def test_a_row_is_explained_by_keyboard_on_a_narrow_screen(page, serving, screenshot):
    server = serving()
    assert server.send("PUT", f"/streams/{STREAM}").status == 201
    assert server.send("PUT", "/queries/warm", RIGHT.encode()).status == 201
    push(server, readings(1, 31))
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(f"{server.url}/#/query/warm")
    button = page.get_by_role("region", name="Answers").get_by_role("button", name="Why?").nth(1)
    button.focus()
    page.keyboard.press("Enter")
    why = page.get_by_role("region", name="Why this row")
    expect(why).to_contain_text("members of the group")
    expect(why.get_by_role("heading", name="Why?")).to_be_focused()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    screenshot("page-why-narrow")
    page.keyboard.press("Escape")
    expect(why).to_be_hidden()
    expect(button).to_be_focused()


def test_what_cannot_be_explained_says_why_not(page, serving):
    server = serving()
    assert server.send("PUT", f"/streams/{STREAM}").status == 201
    assert server.send("PUT", "/queries/warm", RIGHT.encode()).status == 201
    push(server, readings(1, 11))
    page.goto(f"{server.url}/#/query/warm")
    page.route("**/why?*", lambda route: route.continue_(url=re.sub("id=[0-9]+", "id=1", route.request.url)))
    page.get_by_role("region", name="Answers").get_by_role("button", name="Why?").first.click()
    expect(page.get_by_role("alert").filter(has_text="registered again")).to_be_visible()


def test_a_page_with_a_token_asks_for_it(page, tmp_path, monkeypatch):
    monkeypatch.setenv("FRESHET_TOKEN", "a-secret-of-this-test")
    with ServerProcess() as server:
        page.goto(server.url)
        page.get_by_label("Token", exact=True).fill("a-secret-of-this-test")
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_text("There is no stream yet")).to_be_visible()

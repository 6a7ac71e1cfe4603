"""The verdicts of drills as JUnit XML, for continuous integration."""

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from admin.drills.expectations import JudgedRun
from admin.drills.record import RunEnd


def render(judged: Sequence[JudgedRun]) -> str:
    """Return a suite for each run, with a case for each expectation and one for its end."""
    root = ET.Element("testsuites")
    for each in judged:
        _suite(root, each)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(root: ET.Element, judged: JudgedRun) -> None:
    name = f"drill.{judged.run.drill.name}"
    bad = [each for each in judged.findings if not each.met]
    early = judged.end not in {RunEnd.PASSED, RunEnd.FAILED} or judged.run.stopped is not None
    suite = ET.SubElement(
        root,
        "testsuite",
        name=name,
        tests=str(len(judged.findings) + 1),
        failures=str(len(bad) + early),
        time=f"{judged.run.ended - judged.run.begun:.3f}",
        timestamp=judged.run.began_at,
    )
    end = ET.SubElement(suite, "testcase", classname=name, name="runs to its end")
    if early:
        ET.SubElement(end, "failure", message=judged.sentence)
    for each in judged.findings:
        case = ET.SubElement(suite, "testcase", classname=name, name=each.name)
        if not each.met:
            message = f"{each.measured}; wanted: {each.limit}"
            ET.SubElement(case, "failure", message=message).text = "\n".join(each.why)

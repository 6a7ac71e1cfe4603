"""How the status page looks and renews itself, and the policy that lets nothing else run in it."""

from base64 import b64encode
from hashlib import sha256
from typing import Final

from admin.html import page

RENEWED_S: Final = 2
"""How often a page that is looked at asks again."""
RELOADED_S: Final = 5
"""How often a browser without scripts loads it again."""

STYLE: Final = """
header { display: flex; flex-wrap: wrap; gap: 0 1rem; align-items: baseline;
  justify-content: space-between; }
header h1 { margin: 0 0 .5rem; }
section { margin: 0 0 1.4rem; }
.fix { border-left: .4rem solid var(--soft); padding: .2rem 1rem; margin: 0; }
.stale { border: 2px solid var(--bad); padding: .5rem 1rem; font-weight: 600; }
.lines { list-style: none; margin: .5rem 0; padding: 0; }
.lines li { padding: .15rem 0; overflow-wrap: anywhere; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); gap: 1rem; }
.tile { background: var(--faint); padding: .6rem .8rem; min-width: 0; }
.tile h3 { margin: 0 0 .2rem; font-size: .87rem; font-weight: 500; color: var(--muted); }
.tile p { margin: .2rem 0; overflow-wrap: anywhere; }
.figure { font-size: 1.4rem; font-variant-numeric: tabular-nums; }
svg.spark { min-width: 0; height: 44px; }
.spark path { fill: none; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round;
  vector-effect: non-scaling-stroke; }
.spark .line { stroke: var(--good); } .spark .ground { stroke: var(--soft); stroke-width: 1; }
meter { width: 100%; }
.event { white-space: normal; overflow-wrap: anywhere; }
footer { color: var(--muted); font-size: .87rem; margin-top: 2rem; }
@media (max-width: 44rem) { .roomy { display: none; } body { padding-top: .8rem; }
  td, th { padding-right: .5rem; font-size: .87rem; } }
"""

SCRIPT: Final = """
"use strict";
const stale = document.getElementById("stale");
let heard = new Date();
function take(fresh) {
  for (const part of document.querySelectorAll("section[id]")) {
    const other = fresh.getElementById(part.id);
    if (other === null || other.innerHTML === part.innerHTML) continue;
    const wide = [...part.querySelectorAll(".wide")].map((each) => each.scrollLeft);
    part.replaceChildren(...other.childNodes);
    part.querySelectorAll(".wide").forEach((each, at) => { each.scrollLeft = wide[at] || 0; });
  }
  document.title = fresh.title;
}
async function renew() {
  if (document.hidden) return;
  try {
    const here = location.origin + location.pathname;
    const answer = await fetch(here, { cache: "no-store", signal: AbortSignal.timeout(8000) });
    if (!answer.ok) throw new Error("it answers " + answer.status);
    take(new DOMParser().parseFromString(await answer.text(), "text/html"));
    heard = new Date();
    stale.hidden = true;
  } catch (error) {
    stale.textContent = "This is old: the node was last heard at "
      + heard.toLocaleTimeString() + " (" + error.message + ").";
    stale.hidden = false;
  }
}
async function again() {
  await renew();
  setTimeout(again, EVERY_MS);
}
setTimeout(again, EVERY_MS);
document.addEventListener("visibilitychange", renew);
""".replace("EVERY_MS", str(RENEWED_S * 1000))


def _allowed(text: str) -> str:
    """A source of a content security policy: this very text, and nothing else."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        f"style-src {_allowed(page.STYLE + STYLE)}",
        f"script-src {_allowed(SCRIPT)}",
        "connect-src 'self'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
"""Nothing from elsewhere, no script but ours, no frame around it (Content-Security-Policy)."""
HEADERS: Final = (
    ("Content-Security-Policy", POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
)

HEAD: Final = (
    f'<noscript><meta http-equiv="refresh" content="{RELOADED_S}"></noscript>'
    '<meta name="robots" content="noindex">'
    '<link rel="icon" href="data:,">'
)
"""Without an icon of its own a browser would ask for one."""

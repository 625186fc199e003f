/** How the page looks: system fonts, two colour schemes, one column on a phone. */

export const PAGE_STYLE: string = `
:root {
  color-scheme: light dark;
  --ground: #f6f7f9; --card: #fff; --ink: #1b1f27; --soft: #5d6675; --line: #dfe3ea;
  --accent: #2f6fde; --good: #1f8a4c; --bad: #c4302b; --empty: #c9ced8; --warn: #a15c00;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #12151b; --card: #1b2029; --ink: #e7eaf0; --soft: #98a2b3; --line: #2d3441;
    --accent: #7aa7ff; --good: #4cc07f; --bad: #ff7b72; --empty: #3b4352; --warn: #e0a44a;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 76rem; padding: 1rem clamp(.75rem, 3vw, 2rem) 2rem;
  background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, sans-serif;
}
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: .25rem 1rem; margin-bottom: 1rem; }
h1 { font-size: 1.3rem; margin: 0; letter-spacing: -.01em; }
h2 { font-size: .8rem; margin: 0 0 .6rem; color: var(--soft); text-transform: uppercase; letter-spacing: .06em; }
p { margin: 0; }
#manager { color: var(--soft); }
#leader { font-weight: 600; }
#leader[hidden] { display: none; }
#leader a { color: var(--accent); }
#connection { margin-left: auto; font-weight: 600; }
#connection::before {
  content: ""; display: inline-block; width: .6em; height: .6em; border-radius: 50%;
  margin-right: .45em; background: currentColor;
}
#connection[data-state="live"] { color: var(--good); }
#connection[data-state="trying"] { color: var(--warn); }
#connection[data-state="lost"] { color: var(--bad); }
#notice {
  border: 1px solid var(--bad); color: var(--bad); border-radius: .6rem; padding: .6rem .9rem; margin-bottom: 1rem;
}
#notice[hidden] { display: none; }
main { display: grid; gap: 1rem; grid-template-columns: minmax(0, 1fr); }
@media (min-width: 56rem) {
  main { grid-template-columns: minmax(20rem, 26rem) minmax(0, 1fr); grid-template-rows: auto 1fr; align-items: start; }
  #ring-card { grid-row: span 2; }
}
section { background: var(--card); border: 1px solid var(--line); border-radius: .8rem; padding: 1rem; min-width: 0; }
select, input, button {
  font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--line);
  border-radius: .45rem; padding: .35rem .6rem; min-width: 0;
}
button { cursor: pointer; background: var(--accent); border-color: var(--accent); color: var(--card); font-weight: 600; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
.pool-bar { display: flex; align-items: center; gap: .6rem; margin-bottom: .5rem; }
.pool-bar label { color: var(--soft); }
.pool-bar select { flex: 1; }
.ring { position: relative; max-width: 24rem; margin: .25rem auto .75rem; }
canvas { display: block; width: 100%; aspect-ratio: 1; }
#middle {
  position: absolute; inset: 30%; display: grid; place-content: center; text-align: center;
  color: var(--soft); font-size: .85rem; line-height: 1.35; pointer-events: none;
}
#middle strong { display: block; color: var(--ink); font-size: 1.5rem; line-height: 1.15; }
form { display: flex; gap: .5rem; }
form input { flex: 1; }
#answer { margin-top: .8rem; font-size: .9rem; overflow-wrap: anywhere; }
#answer p + p { margin-top: .35rem; }
#answer p:first-child { font-weight: 600; }
.scroll { overflow: auto; max-height: 30rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .4rem .6rem .4rem 0; border-top: 1px solid var(--line); vertical-align: top; }
th { border-top: 0; color: var(--soft); font-weight: 500; font-size: .85rem; position: sticky; top: 0; background: var(--card); }
th.count, td.count { text-align: right; white-space: nowrap; }
tbody tr:hover { background: var(--ground); }
.name { font-weight: 600; overflow-wrap: anywhere; }
.name::before { content: ""; display: inline-block; width: .7em; height: .7em; border-radius: .2em; margin-right: .5em; background: var(--swatch, var(--empty)); }
.share { white-space: nowrap; }
.url { color: var(--soft); font-size: .85rem; overflow-wrap: anywhere; }
.state { font-size: .8rem; color: var(--warn); }
.state.bad { color: var(--bad); }
body[data-stale] main, body[data-stale] #notice { filter: grayscale(1); opacity: .55; }
body[data-stale] #manager::before { content: "last seen: "; }
.bar { position: relative; height: .4rem; min-width: 4rem; border-radius: .2rem; background: var(--line); overflow: hidden; margin-top: .2rem; }
.bar div { height: 100%; min-width: 2px; background: var(--swatch, var(--empty)); }
.bar i { position: absolute; top: 0; bottom: 0; width: 2px; margin-left: -1px; background: var(--ink); opacity: .55; }
.bar i[hidden] { display: none; }
#gone td { opacity: .8; }
#gone .name { color: var(--soft); text-decoration: line-through; text-decoration-thickness: 1px; }
#gone .name::before { background: none; box-shadow: inset 0 0 0 2px var(--empty); }
#events { list-style: none; margin: 0; padding: 0; font-size: .9rem; }
#events li { display: grid; grid-template-columns: 4.6rem 5.8rem minmax(0, 1fr); gap: .5rem; padding: .25rem 0; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
#events li:first-child { border-top: 0; }
#events time { color: var(--soft); font-variant-numeric: tabular-nums; }
#events b { font-weight: 600; white-space: nowrap; }
#events [data-kind="given back"] b { color: var(--soft); }
#events [data-kind="lost"] b, #events [data-kind="halted"] b { color: var(--bad); }
#events [data-kind="left"] b, #events [data-kind="gap"] b, #events [data-kind="deposed"] b { color: var(--warn); }
#events [data-kind="granted"] b, #events [data-kind="joined"] b, #events [data-kind="elected"] b { color: var(--good); }
.none { color: var(--soft); }
footer { margin-top: 1rem; color: var(--soft); font-size: .85rem; display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; }
footer a { color: inherit; }
@media (max-width: 34rem) {
  th.load, td.load { display: none; }
  table { font-size: .85rem; }
  th, td { padding-right: .4rem; }
  .bar { min-width: 2.5rem; }
  #events li { grid-template-columns: 4.4rem minmax(0, 1fr); }
  #events li span { grid-column: 1 / -1; }
}
@media (prefers-reduced-motion: no-preference) { .bar div { transition: width .3s; } main { transition: filter .3s, opacity .3s; } }
`;

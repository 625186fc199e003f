/**
 * The page at `/`: one self-contained document, so that the page works where nothing else can be reached. The browser
 * is told to run and load only the contents of this document as built: the policy names the digests of the script and
 * the style, so the name of an owner can never become code.
 */

import { digest } from '../../../runtime/digest.ts';
import type { HttpTextAnswer } from '../../../node/http/exchange.ts';
import { PAGE_BUNDLE } from './page-bundle.ts';
import { PAGE_STYLE } from './page-style.ts';

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Leasehold</title>
<link rel="icon" href="data:,">
<style>${PAGE_STYLE}</style>
</head>
<body>
<header>
  <h1>Leasehold</h1>
  <p id="manager"></p>
  <p id="leader" hidden></p>
  <p id="connection" role="status" data-state="">connecting</p>
</header>
<p id="notice" role="alert" hidden></p>
<main>
  <section id="ring-card" aria-label="Ring">
    <div class="pool-bar"><label for="pool">Pool</label><select id="pool"></select></div>
    <div class="ring">
      <canvas id="ring" role="img" aria-label="The ring of keys, coloured by owner; the table has the same in numbers"></canvas>
      <div id="middle"></div>
    </div>
    <form id="ask">
      <input id="key" placeholder="a key, such as alice" aria-label="Key" autocomplete="off" autocapitalize="off" spellcheck="false">
      <button>Where is it?</button>
    </form>
    <div id="answer" aria-live="polite"></div>
  </section>
  <section aria-label="Owners">
    <h2>Owners</h2>
    <div class="scroll">
      <table>
        <thead><tr><th>Owner</th><th>Share</th><th class="count">Ranges</th><th class="count">Heard</th><th class="count load">Load</th></tr></thead>
        <tbody id="owners"></tbody>
        <tbody id="gone" aria-label="Owners that are gone"></tbody>
      </table>
      <p id="no-owners" class="none" hidden>Nobody has joined this pool.</p>
    </div>
  </section>
  <section aria-label="Events">
    <h2>Events</h2>
    <div class="scroll"><ol id="events"></ol></div>
  </section>
</main>
<footer>
  <a href="/v1/status">status</a><a href="/v1/pool">pools</a><a href="/v1/events/recent">recent events</a><a href="/metrics">metrics</a><a href="/openapi.json">OpenAPI</a>
</footer>
<noscript>This page needs JavaScript; everything it shows is at /v1/pool as JSON.</noscript>
<script>${PAGE_BUNDLE}</script>
</body>
</html>
`;

const source = (text: string): string => `'sha256-${Buffer.from(digest(text), 'hex').toString('base64')}'`;

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `script-src ${source(PAGE_BUNDLE)}`,
  `style-src ${source(PAGE_STYLE)}`,
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export const pageAnswer = (): HttpTextAnswer => ({
  kind: 'text',
  status: 200,
  headers: {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': CONTENT_SECURITY_POLICY,
  },
  body: PAGE,
});

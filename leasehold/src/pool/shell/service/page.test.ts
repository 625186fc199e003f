import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { pageAnswer } from './page.ts';

const { headers, body } = pageAnswer();
const policy = headers['content-security-policy'] ?? '';
const inside = (tag: string): readonly string[] =>
  [...body.matchAll(new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`, 'g'))].map(([, text]) => text ?? '');

describe('the page', () => {
  it('may run its own script and style and nothing else', () => {
    const allowed = (text: string): string =>
      `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
    const [script, style] = [inside('script'), inside('style')];
    expect([script.length, style.length]).toEqual([1, 1]);
    expect(policy).toContain(`script-src ${allowed(script[0] ?? '')};`);
    expect(policy).toContain(`style-src ${allowed(style[0] ?? '')};`);
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('unsafe');
  });

  it('needs nothing from anywhere else', () => {
    expect(body).not.toMatch(/https?:\/\/(?!['"])/);
    expect(body).not.toMatch(/<(?:script|link|img)[^>]+(?:src|href)="(?!data:)/);
  });

  it('shows what comes from outside as text only, and has no code in attributes', () => {
    expect(body).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function/);
    expect(body).not.toMatch(/\son\w+="|\sstyle="/);
  });

  it('has a script that is one', () => {
    expect(() => new Function(inside('script')[0] ?? 'throw')).not.toThrow();
  });
});

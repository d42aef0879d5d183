/** Text from outside or from a model, made safe to stand in a title or a comment. */

const maxTitleLength = 200;

/** One line without control, format and bidirectional override characters. */
export function oneLine(text: string, longest = maxTitleLength): string {
  const line = text
    .replace(/[\p{Cf}\p{Cs}\p{Co}]/gu, '')
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  return line.length > longest
    ? `${[...line]
        .slice(0, longest - 1)
        .join('')
        .trimEnd()}…`
    : line;
}

/**
 * Several lines: line breaks and tabs stay, other control characters and bidirectional overrides go. A comment that looks like
 * the marker by which we find our own texts again is made visible, so that nobody makes us write one in a wrong place.
 */
export function plainText(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(/[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]|\p{Cs}/gu, '')
    .replace(/<!--(?=\s*core\b)/gi, '&lt;!--');
}

/**
 * Text in which nothing makes a forge act, as Markdown and as plain text: it closes and links no issue (`# 99`), mentions nobody
 * (`@ name`), and hides nothing in a comment (`<! --`). The change is visible, since what is approved is what people see.
 */
export function inert(text: string): string {
  return text
    .replaceAll('<!--', '<! --')
    .replace(/&(?=(?:#\w{1,10}|num|commat|excl);)/gi, '&amp;')
    .replace(/[#!](?=\d)/g, '$& ')
    .replace(/\bGH-(?=\d)/gi, '$& ')
    .replace(/(?<![A-Za-z0-9_])@(?=\w)/g, '@ ')
    .replace(/\b(clos|fix|resolv|implement)(e[sd]?|s|ed|ing|)\b[^\w\n]{0,5}(?=https?:)/gi, '$1$2 — ');
}

/** An indented code block: nothing in it is Markdown, mentions nobody and closes no fence. */
export function quotedWords(text: string, longest = 2000): string {
  const cut = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return plainText(cut)
    .trim()
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n');
}

/** Inline code, also for text that holds backticks. */
export function inlineCode(text: string): string {
  const line = oneLine(text);
  const longestRun = Math.max(0, ...(line.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longestRun + 1);
  return longestRun === 0 ? `${fence}${line}${fence}` : `${fence} ${line} ${fence}`;
}

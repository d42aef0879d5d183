/** Text as it stands in Markdown that VitePress renders: nothing in it becomes HTML or a template. */
export function plain(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('{{', '&#123;&#123;')
    .replaceAll('*', '\\*')
    .replaceAll('_', '\\_');
}

/** Like `plain`, but what stands between backticks stays code. */
export function prose(text: string): string {
  return text
    .split(/(`[^`]+`)/)
    .map((part) => (part.startsWith('`') && part.length > 1 ? part : plain(part)))
    .join('');
}

export function code(text: string): string {
  const fence = text.includes('`') ? '``' : '`';
  const room = fence === '``' ? ' ' : '';
  return `${fence}${room}${text}${room}${fence}`;
}

export function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text}\n\`\`\``;
}

/** A table; cells are Markdown already. Gives nothing without rows. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
  return [line(head), `|${' --- |'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

/** Blocks with an empty line between them; those that say nothing are left out. */
export function blocks(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n\n');
}

/** A page that nobody edits by hand. */
export function generatedPage(title: string, source: string, ...parts: readonly string[]): string {
  return `${blocks(`---\neditLink: false\noutline: [2, 3]\n---`, `<!-- Made by npm run site from ${source}. -->`, `# ${title}`, ...parts)}\n`;
}

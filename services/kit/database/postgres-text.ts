/** PostgreSQL keeps no NUL, and no half of a surrogate pair. */
export function postgresText(text: string): string {
  return text.replaceAll('\0', '\u{fffd}').toWellFormed();
}

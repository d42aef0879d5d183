export interface GeneratedPage {
  /** Below the site's folder, for example `reference/commands.md`. */
  readonly path: string;
  readonly text: string;
}

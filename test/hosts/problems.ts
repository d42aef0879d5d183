/** What went wrong, by kind; each list is to be empty. */
export type Problems = Readonly<Record<string, readonly string[]>>;

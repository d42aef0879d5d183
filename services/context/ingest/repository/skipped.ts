/** How many files were left out, and why. */
export interface Skipped {
  /** No text in any encoding that we know. */
  binary: number;
  /** Larger than `ingestion.max_file_bytes`. */
  too_large: number;
  /** Committed in spite of a `.gitignore`. */
  ignored: number;
  link: number;
  submodule: number;
  /** A pointer of Git LFS, whose content is elsewhere. */
  lfs: number;
  /** The repository has lost its content; what was known of it stays. */
  unreadable: number;
}

export function noneSkipped(): Skipped {
  return { binary: 0, too_large: 0, ignored: 0, link: 0, submodule: 0, lfs: 0, unreadable: 0 };
}

/** Reasons that only the content shows. */
export type SkippedByContent = 'binary' | 'lfs';

export function isLfsPointer(bytes: Buffer): boolean {
  return (
    bytes.length < 1024 && bytes.toString('latin1', 0, 42) === 'version https://git-lfs.github.com/spec/v1'
  );
}

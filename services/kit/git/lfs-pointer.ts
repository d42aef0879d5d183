/** Bytes that a pointer has at most. */
export const maxPointerBytes = 1024;

/** A file that Git LFS keeps outside of the repository. */
export interface LfsObject {
  /** sha256 of its bytes. */
  readonly oid: string;
  readonly size: number;
}

/** True for what Git LFS records in the place of a file. */
export function isLfsPointer(bytes: Buffer): boolean {
  return (
    bytes.length < maxPointerBytes &&
    bytes.toString('latin1', 0, 42) === 'version https://git-lfs.github.com/spec/v1'
  );
}

/** The object that a pointer names; null if the pointer does not follow version 1 of the specification. */
export function lfsObjectOf(bytes: Buffer): LfsObject | null {
  if (!isLfsPointer(bytes)) return null;
  const text = bytes.toString('latin1');
  const [, oid] = /^oid sha256:([0-9a-f]{64})$/m.exec(text) ?? [];
  const size = Number(/^size (\d{1,15})$/m.exec(text)?.[1] ?? Number.NaN);
  return oid === undefined || Number.isNaN(size) ? null : { oid, size };
}

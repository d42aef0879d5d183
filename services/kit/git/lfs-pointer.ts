/** Bytes that a pointer has at most. */
export const maxPointerBytes = 1024;

/** True for what Git LFS records in the place of a file. */
export function isLfsPointer(bytes: Buffer): boolean {
  return (
    bytes.length < maxPointerBytes &&
    bytes.toString('latin1', 0, 42) === 'version https://git-lfs.github.com/spec/v1'
  );
}

/**
 * How Node is started for every program of Core; `./core` says the same. The modules lie where their names say, and looking
 * whether each is a link takes a tenth of a start. V8 takes four threads for work beside the program, which in seven processes
 * that start together are in each other's way, and cleans a young heap of 1 MB again and again until it has grown.
 */
export const nodeFlags: readonly string[] = [
  '--disable-warning=ExperimentalWarning',
  '--preserve-symlinks',
  '--preserve-symlinks-main',
  '--v8-pool-size=1',
  '--min-semi-space-size=8',
];

/** Views of one run. `core runs` starts without them and the kinds of action behind them (bar of `bench -- start`). */
export function viewsOfRun(): Promise<typeof import('./views/of-run.ts')> {
  return import('./views/of-run.ts');
}

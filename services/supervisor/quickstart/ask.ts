import { Interrupted } from '#kit/errors.ts';

/** Asks for one gate. Ctrl-C at the question ends the quickstart. */
export async function askForGate(gate: string, kinds: string): Promise<boolean> {
  const { confirm } = await import('@inquirer/prompts');
  try {
    // What others will see takes a word of its own; Enter alone is enough for what stays on this machine.
    return await confirm({ message: `Approve the gate ${gate} (${kinds})?`, default: gate === 'build' });
  } catch (cause) {
    throw new Interrupted('interrupted', 'stopped by you', { cause });
  }
}

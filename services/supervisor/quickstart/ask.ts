import { Interrupted } from '#kit/errors.ts';

/** Asks for one gate. Ctrl-C at the question ends the quickstart. */
export async function askForGate(gate: string, kinds: string): Promise<boolean> {
  const { confirm } = await import('@inquirer/prompts');
  try {
    return await confirm({ message: `Approve the gate ${gate} (${kinds})?`, default: true });
  } catch (cause) {
    throw new Interrupted('interrupted', 'stopped by you', { cause });
  }
}

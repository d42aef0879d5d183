import type { OwnCommand } from './own-command.ts';

/** The commands of the supervisor; the code of one is loaded when it is called. */
export const ownCommands: Readonly<Record<string, () => Promise<OwnCommand>>> = {
  up: () => import('./commands/up-command.ts'),
  doctor: () => import('./commands/doctor-command.ts'),
  token: () => import('./commands/token-command.ts'),
  quickstart: () => import('./quickstart/quickstart-command.ts'),
  backup: () => import('./commands/backup-command.ts'),
  restore: () => import('./commands/restore-command.ts'),
  secrets: () => import('./commands/secrets-command.ts'),
  install: () => import('./install.ts'),
};

import { performCommands } from '../record/group-commit.ts';
import { writeCommands } from './commands.ts';

performCommands(writeCommands);

import { performCommands } from '../record/perform-commands.ts';
import { writeCommands } from './commands.ts';

performCommands(writeCommands);

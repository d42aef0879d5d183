import { crashMatrix } from './matrix.ts';

crashMatrix('git', 'postgres');

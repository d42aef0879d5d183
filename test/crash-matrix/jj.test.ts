import { crashMatrix } from './matrix.ts';

crashMatrix('jj');

/** What npm runs after an installation (`prepare`): the script of the Manager's page is built, if that is due. */

import { ensurePage } from './build/page.mjs';

await ensurePage();

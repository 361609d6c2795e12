/** Whether the screen has room for one thing alone: a sample then comes on top of the list, not beside it. */

import { MediaQuery } from "svelte/reactivity";

export const narrow = new MediaQuery("max-width: 860px");

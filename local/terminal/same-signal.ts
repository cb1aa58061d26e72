/**
 * Ctrl-C arrives twice within a moment: from the terminal, and passed on by npm's script. A person who means
 * it twice is slower than this.
 */
export const SAME_SIGNAL_MS = 500

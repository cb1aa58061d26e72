/** How the file of a consumer is bundled; esbuild's manual has the values of all but `sourceMap`. */
export type Bundling = {
  /** Packages to leave out: a layer brings them, or the runtime does. */
  readonly external?: readonly string[]
  /** Default: true. */
  readonly minify?: boolean
  /** Makes stack traces name your own files and lines. Default: true. */
  readonly sourceMap?: boolean
  /** Code that stands at the top of each file of the bundle. */
  readonly banner?: string
  /** Expressions to put in the place of names: `{ STAGE: '"test"' }`. */
  readonly define?: Readonly<Record<string, string>>
}

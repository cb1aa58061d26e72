/** Collects the parts of one update: names and values get short placeholders, in order of use. */
export class Expression {
  readonly #names = new Map<string, string>()
  readonly #values: unknown[] = []
  readonly sets: string[] = []
  readonly removes: string[] = []
  readonly adds: string[] = []
  readonly conditions: string[] = []

  /** A placeholder for a name that is not ours to choose (priority, lock id) or is reserved. */
  name(name: string | number): string {
    const text = String(name)
    let placeholder = this.#names.get(text)
    if (placeholder === undefined) {
      placeholder = `#${this.#names.size.toString(36)}`
      this.#names.set(text, placeholder)
    }
    return placeholder
  }

  value(value: unknown): string {
    this.#values.push(value)
    return `:${(this.#values.length - 1).toString(36)}`
  }

  set(path: string, value: unknown): void {
    this.sets.push(`${path}=${this.value(value)}`)
  }

  /** Adds to a counter; nothing where there is nothing to add. */
  add(path: string, amount: number): void {
    if (amount !== 0) this.adds.push(`${path} ${this.value(amount)}`)
  }

  condition(clause: string): void {
    this.conditions.push(clause)
  }

  build(): {
    UpdateExpression: string
    ConditionExpression: string
    ExpressionAttributeNames?: Record<string, string>
    ExpressionAttributeValues: Record<string, unknown>
  } {
    const clauses: string[] = []
    if (this.sets.length > 0) clauses.push(`SET ${this.sets.join(',')}`)
    if (this.removes.length > 0) clauses.push(`REMOVE ${this.removes.join(',')}`)
    if (this.adds.length > 0) clauses.push(`ADD ${this.adds.join(',')}`)
    const names: Record<string, string> = {}
    for (const [name, placeholder] of this.#names) names[placeholder] = name
    const values: Record<string, unknown> = {}
    for (const [index, value] of this.#values.entries()) values[`:${index.toString(36)}`] = value
    return {
      UpdateExpression: clauses.join(' '),
      ConditionExpression: this.conditions.join(' AND '),
      ...(this.#names.size > 0 && { ExpressionAttributeNames: names }),
      ExpressionAttributeValues: values,
    }
  }
}

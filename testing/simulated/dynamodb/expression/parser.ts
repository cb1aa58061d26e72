// The shared ground of the three grammars: tokens, reserved words, paths, values, the number of operators, and which
// placeholders were used.

import { validationError } from '../errors.ts'
import { type Item, isList, isMap, textBytes, type Value } from '../values.ts'

export type PathStep = string | number
export interface Path {
  readonly kind: 'path'
  readonly steps: readonly PathStep[]
}
interface ValueReference {
  readonly kind: 'value'
  readonly name: string
}
export type Names = Readonly<Record<string, string>>
export type Values = Readonly<Record<string, Value>>
/** Refuses values that make the expression invalid whatever the item holds. */
export type ValueCheck = (values: Values) => void

const operatorsMax = 300
const pathDepthMax = 32

export class Parser {
  readonly namesUsed = new Set<string>()
  readonly valuesUsed = new Set<string>()
  readonly checks: ValueCheck[] = []
  /** Parts that stand in their own parentheses. */
  readonly inParentheses = new Set<object>()
  readonly what: string
  private readonly tokens: readonly Token[]
  private readonly names: Names
  private at = 0
  private operators = 0

  constructor(expression: string, names: Names, what: string) {
    this.what = what
    this.names = names
    this.tokens = tokenize(expression, what)
  }

  peek(): Token {
    return this.tokens[this.at] as Token
  }

  /** The name of the function that is called here, if one is. */
  peekCall(): string | undefined {
    const [token, after] = [this.peek(), this.tokens[this.at + 1]]
    const isCall = token.kind === 'word' && after?.kind === 'symbol' && after.text === '('
    return isCall ? token.text : undefined
  }

  takeCall(): void {
    this.at += 2
    this.countOperator()
  }

  next(): Token {
    const token = this.peek()
    if (token.kind !== 'end') this.at++
    return token
  }

  isSymbol(text: string): boolean {
    const token = this.peek()
    return token.kind === 'symbol' && token.text === text
  }

  isKeyword(keyword: string): boolean {
    const token = this.peek()
    if (token.kind !== 'word' || token.text.length !== keyword.length) return false
    return token.text.toUpperCase() === keyword
  }

  take(text: string): boolean {
    if (!this.isSymbol(text)) return false
    this.at++
    return true
  }

  takeKeyword(keyword: string): boolean {
    if (!this.isKeyword(keyword)) return false
    this.at++
    return true
  }

  expect(text: string): void {
    if (!this.take(text)) throw this.syntaxError()
  }

  expectEnd(): void {
    if (this.peek().kind !== 'end') throw this.syntaxError()
  }

  syntaxError(): Error {
    const token = this.peek()
    const text = 'text' in token ? token.text : token.kind
    return invalid(this.what, `Syntax error; token: "${text}"`)
  }

  invalid(problem: string): Error {
    return invalid(this.what, problem)
  }

  pathRequired(name: string): Error {
    return this.invalid(
      `Operator or function requires a document path; operator or function: ${name}`,
    )
  }

  wrongOperand(operator: string, type: string): Error {
    return this.invalid(
      'Incorrect operand type for operator or function; operator or function: ' +
        `${operator}, operand type: ${type}`,
    )
  }

  countOperator(): void {
    this.operators++
    if (this.operators > operatorsMax) {
      throw this.invalid(
        `The expression has more than the maximum of ${operatorsMax} operators and functions;`,
      )
    }
  }

  value(): ValueReference {
    const token = this.next()
    if (token.kind !== 'value') throw this.syntaxError()
    this.valuesUsed.add(token.text)
    return { kind: 'value', name: token.text }
  }

  path(): Path {
    const steps: PathStep[] = [this.pathName()]
    for (;;) {
      const token = this.peek()
      if (token.kind === 'index') {
        this.at++
        steps.push(token.index)
      } else if (this.take('.')) {
        steps.push(this.pathName())
      } else {
        break
      }
    }
    if (steps.length > pathDepthMax) {
      throw this.invalid('The document path has too many nesting elements;')
    }
    return { kind: 'path', steps }
  }

  private pathName(): string {
    const token = this.peek()
    if (token.kind === 'name') {
      this.at++
      this.namesUsed.add(token.text)
      const name = this.names[token.text]
      if (name === undefined) {
        throw this.invalid(
          'An expression attribute name used in the document path is not defined; ' +
            `attribute name: ${token.text}`,
        )
      }
      return name
    }
    if (token.kind !== 'word') throw this.syntaxError()
    if (isReservedWord(token.text)) {
      throw this.invalid(`Attribute name is a reserved keyword; reserved keyword: ${token.text}`)
    }
    this.at++
    return token.text
  }
}

export function samePath(a: Path, b: Path): boolean {
  return a.steps.length === b.steps.length && a.steps.every((step, i) => step === b.steps[i])
}

type ReadPath = (item: Item) => Value | undefined

export function compilePath(steps: readonly PathStep[]): ReadPath {
  const first = steps[0] as string
  if (steps.length === 1) {
    if (first in Object.prototype) return (item) => readName(item, first)
    return (item) => item[first]
  }
  return (item) => {
    let value: Value | undefined = item
    for (const step of steps) {
      value = readStep(value, step)
      if (value === undefined) return undefined
    }
    return value
  }
}

function readStep(container: Value | undefined, step: PathStep): Value | undefined {
  if (typeof step === 'number') return isList(container) ? container[step] : undefined
  return isMap(container) ? readName(container, step) : undefined
}

/** Items are plain objects, so names that Object.prototype also has need care. */
function readName(map: Item, name: string): Value | undefined {
  if (name in Object.prototype) return Object.hasOwn(map, name) ? map[name] : undefined
  return map[name]
}

type Token =
  | { readonly kind: 'name'; readonly text: string } // #alias
  | { readonly kind: 'value'; readonly text: string } // :value
  | { readonly kind: 'word'; readonly text: string } // attribute, keyword or function
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'symbol'; readonly text: string }
  | { readonly kind: 'end' }

const expressionBytesMax = 4096
const placeholderBytesMax = 255

const pattern =
  /\s+|(#[A-Za-z0-9_]+)|(:[A-Za-z0-9_]+)|([A-Za-z][A-Za-z0-9_]*)|\[(\d+)\]|(<>|<=|>=|[=<>(),.+-])/y

/** Texts come again under other names: of lanes and locks. */
const known = new Map<string, readonly Token[]>()
const KNOWN_MAX = 4096

function tokenize(expression: string, what: string): readonly Token[] {
  const again = known.get(expression)
  if (again !== undefined) return again
  const tokens = read(expression, what)
  if (known.size >= KNOWN_MAX) known.clear()
  known.set(expression, tokens)
  return tokens
}

function read(expression: string, what: string): readonly Token[] {
  if (expression.trim() === '') throw invalid(what, 'The expression can not be empty;')
  if (textBytes(expression) > expressionBytesMax) {
    throw invalid(what, 'Expression size has exceeded the maximum allowed size;')
  }
  const tokens: Token[] = []
  const matcher = new RegExp(pattern)
  while (matcher.lastIndex < expression.length) {
    const at = matcher.lastIndex
    const match = matcher.exec(expression)
    if (match === null) {
      throw invalid(what, `Syntax error; token: "${expression.slice(at, at + 10)}"`)
    }
    const token = toToken(match)
    if (token !== undefined) tokens.push(checkedToken(token, what))
  }
  tokens.push({ kind: 'end' })
  return tokens
}

function toToken(match: RegExpExecArray): Token | undefined {
  const [, name, value, word, index, symbol] = match
  if (name !== undefined) return { kind: 'name', text: name }
  if (value !== undefined) return { kind: 'value', text: value }
  if (word !== undefined) return { kind: 'word', text: word }
  if (index !== undefined) return { kind: 'index', index: Number(index) }
  if (symbol !== undefined) return { kind: 'symbol', text: symbol }
  return undefined // white space
}

function checkedToken(token: Token, what: string): Token {
  const placeholder = token.kind === 'name' || token.kind === 'value'
  if (placeholder && textBytes(token.text) > placeholderBytesMax) {
    throw invalid(what, 'A placeholder has exceeded the maximum allowed length;')
  }
  return token
}

export function invalid(what: string, problem: string): Error {
  return validationError(`Invalid ${what}: ${problem}`)
}

/**
 * The words DynamoDB refuses as bare attribute names in an expression, in any case
 * (developer guide, "Reserved words in DynamoDB"). 573 of them.
 */
const words = `
ABORT ABSOLUTE ACTION ADD AFTER AGENT AGGREGATE ALL ALLOCATE ALTER ANALYZE AND ANY ARCHIVE ARE ARRAY
AS ASC ASCII ASENSITIVE ASSERTION ASYMMETRIC AT ATOMIC ATTACH ATTRIBUTE AUTH AUTHORIZATION AUTHORIZE
AUTO AVG BACK BACKUP BASE BATCH BEFORE BEGIN BETWEEN BIGINT BINARY BIT BLOB BLOCK BOOLEAN BOTH
BREADTH BUCKET BULK BY BYTE CALL CALLED CALLING CAPACITY CASCADE CASCADED CASE CAST CATALOG CHAR
CHARACTER CHECK CLASS CLOB CLOSE CLUSTER CLUSTERED CLUSTERING CLUSTERS COALESCE COLLATE COLLATION
COLLECTION COLUMN COLUMNS COMBINE COMMENT COMMIT COMPACT COMPILE COMPRESS CONDITION CONFLICT CONNECT
CONNECTION CONSISTENCY CONSISTENT CONSTRAINT CONSTRAINTS CONSTRUCTOR CONSUMED CONTINUE CONVERT COPY
CORRESPONDING COUNT COUNTER CREATE CROSS CUBE CURRENT CURSOR CYCLE DATA DATABASE DATE DATETIME DAY
DEALLOCATE DEC DECIMAL DECLARE DEFAULT DEFERRABLE DEFERRED DEFINE DEFINED DEFINITION DELETE
DELIMITED DEPTH DEREF DESC DESCRIBE DESCRIPTOR DETACH DETERMINISTIC DIAGNOSTICS DIRECTORIES DISABLE
DISCONNECT DISTINCT DISTRIBUTE DO DOMAIN DOUBLE DROP DUMP DURATION DYNAMIC EACH ELEMENT ELSE ELSEIF
EMPTY ENABLE END EQUAL EQUALS ERROR ESCAPE ESCAPED EVAL EVALUATE EXCEEDED EXCEPT EXCEPTION
EXCEPTIONS EXCLUSIVE EXEC EXECUTE EXISTS EXIT EXPLAIN EXPLODE EXPORT EXPRESSION EXTENDED EXTERNAL
EXTRACT FAIL FALSE FAMILY FETCH FIELDS FILE FILTER FILTERING FINAL FINISH FIRST FIXED FLATTERN FLOAT
FOR FORCE FOREIGN FORMAT FORWARD FOUND FREE FROM FULL FUNCTION FUNCTIONS GENERAL GENERATE GET GLOB
GLOBAL GO GOTO GRANT GREATER GROUP GROUPING HANDLER HASH HAVE HAVING HEAP HIDDEN HOLD HOUR
IDENTIFIED IDENTITY IF IGNORE IMMEDIATE IMPORT IN INCLUDING INCLUSIVE INCREMENT INCREMENTAL INDEX
INDEXED INDEXES INDICATOR INFINITE INITIALLY INLINE INNER INNTER INOUT INPUT INSENSITIVE INSERT
INSTEAD INT INTEGER INTERSECT INTERVAL INTO INVALIDATE IS ISOLATION ITEM ITEMS ITERATE JOIN KEY KEYS
LAG LANGUAGE LARGE LAST LATERAL LEAD LEADING LEAVE LEFT LENGTH LESS LEVEL LIKE LIMIT LIMITED LINES
LIST LOAD LOCAL LOCALTIME LOCALTIMESTAMP LOCATION LOCATOR LOCK LOCKS LOG LOGED LONG LOOP LOWER MAP
MATCH MATERIALIZED MAX MAXLEN MEMBER MERGE METHOD METRICS MIN MINUS MINUTE MISSING MOD MODE MODIFIES
MODIFY MODULE MONTH MULTI MULTISET NAME NAMES NATIONAL NATURAL NCHAR NCLOB NEW NEXT NO NONE NOT NULL
NULLIF NUMBER NUMERIC OBJECT OF OFFLINE OFFSET OLD ON ONLINE ONLY OPAQUE OPEN OPERATOR OPTION OR
ORDER ORDINALITY OTHER OTHERS OUT OUTER OUTPUT OVER OVERLAPS OVERRIDE OWNER PAD PARALLEL PARAMETER
PARAMETERS PARTIAL PARTITION PARTITIONED PARTITIONS PATH PERCENT PERCENTILE PERMISSION PERMISSIONS
PIPE PIPELINED PLAN POOL POSITION PRECISION PREPARE PRESERVE PRIMARY PRIOR PRIVATE PRIVILEGES
PROCEDURE PROCESSED PROJECT PROJECTION PROPERTY PROVISIONING PUBLIC PUT QUERY QUIT QUORUM RAISE
RANDOM RANGE RANK RAW READ READS REAL REBUILD RECORD RECURSIVE REDUCE REF REFERENCE REFERENCES
REFERENCING REGEXP REGION REINDEX RELATIVE RELEASE REMAINDER RENAME REPEAT REPLACE REQUEST RESET
RESIGNAL RESOURCE RESPONSE RESTORE RESTRICT RESULT RETURN RETURNING RETURNS REVERSE REVOKE RIGHT
ROLE ROLES ROLLBACK ROLLUP ROUTINE ROW ROWS RULE RULES SAMPLE SATISFIES SAVE SAVEPOINT SCAN SCHEMA
SCOPE SCROLL SEARCH SECOND SECTION SEGMENT SEGMENTS SELECT SELF SEMI SENSITIVE SEPARATE SEQUENCE
SERIALIZABLE SESSION SET SETS SHARD SHARE SHARED SHORT SHOW SIGNAL SIMILAR SIZE SKEWED SMALLINT
SNAPSHOT SOME SOURCE SPACE SPACES SPARSE SPECIFIC SPECIFICTYPE SPLIT SQL SQLCODE SQLERROR
SQLEXCEPTION SQLSTATE SQLWARNING START STATE STATIC STATUS STORAGE STORE STORED STREAM STRING STRUCT
STYLE SUB SUBMULTISET SUBPARTITION SUBSTRING SUBTYPE SUM SUPER SYMMETRIC SYNONYM SYSTEM TABLE
TABLESAMPLE TEMP TEMPORARY TERMINATED TEXT THAN THEN THROUGHPUT TIME TIMESTAMP TIMEZONE TINYINT TO
TOKEN TOTAL TOUCH TRAILING TRANSACTION TRANSFORM TRANSLATE TRANSLATION TREAT TRIGGER TRIM TRUE
TRUNCATE TTL TUPLE TYPE UNDER UNDO UNION UNIQUE UNIT UNKNOWN UNLOGGED UNNEST UNPROCESSED UNSIGNED
UNTIL UPDATE UPPER URL USAGE USE USER USERS USING UUID VACUUM VALUE VALUED VALUES VARCHAR VARIABLE
VARIANCE VARINT VARYING VIEW VIEWS VIRTUAL VOID WAIT WHEN WHENEVER WHERE WHILE WINDOW WITH WITHIN
WITHOUT WORK WRAPPED WRITE YEAR ZONE`

const reserved: ReadonlySet<string> = new Set(words.trim().split(/\s+/))

function isReservedWord(word: string): boolean {
  return reserved.has(word.toUpperCase())
}

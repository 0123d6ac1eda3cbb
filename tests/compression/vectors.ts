/**
 * What other programs wrote: gzip 1.12, zstd 1.5.4, lz4 1.9.4, snappy-java 1.1.10.7.
 */

import { Buffer } from "node:buffer";

/** Compressed bytes and what they are of. */
export interface Vector {
  readonly codec: "gzip" | "snappy" | "lz4" | "zstd";
  readonly name: string;
  readonly content: Uint8Array;
  readonly bytes: Uint8Array;
}

const ascii = (text: string) => new TextEncoder().encode(text);
const a = ascii(Array.from({ length: 300 }, (_, i) => i + 1).join("\n"));
const b = ascii("anykafka ".repeat(20000));
const ab = Uint8Array.from([...a, ...b]);
const zeros = new Uint8Array(3_000_000);

function vector(codec: Vector["codec"], name: string, content: Uint8Array, base64: string): Vector {
  return { codec, name, content, bytes: new Uint8Array(Buffer.from(base64, "base64")) };
}

/** All of them. */
export const VECTORS: readonly Vector[] = [
  vector(
    "gzip",
    "gzip -n -9",
    a,
    "H4sIAAAAAAACAx3TyxEFIQwDwbuiQQIM5J/Yjvfuep9pYUVTS1ulo6snD9ly5CkvecslH/nKTxmKlShTWcpWSjnKVZ7m0LQmHzk1l+bWLM2j" +
      "eTWf1tCyVrT4xqW1tUrraF2tpz20rR3tqc0P2tqlfbSv9lMNlVVRTdVS8XtLdVRX9XSGjnWiM3WWztbh7xydq/N0h651ozt1l+7WLV3+7dV9" +
      "ekPPetGbektv65Xe0SNG1yDHoMcgyKDIIMmgySDKoMogy+Duz8Zdh+tyna7bdbyu1/noZwI63Zc7GpqIpqLJaDqakKakSWlaejYEd+Q0PU1Q" +
      "U9QkNU1NVFPVZPVqMe4oa9KatiauqWvymr4msCns3bTcEdlUNplNZxPalDapTWsT29Ub4I7eJrgpbpKb5ia6qW6ym+4+PRbuSG/am/imvslv" +
      "+hsAI2AIfHtV3KFgGIyDgTAShsJYGAyj4dfz6/0xQDyCR/AIHsEjeASP4BE84h4qd3gEj+ARPIJH8Age6T33oP9Fc9eb7lH3qnvWveseNh7B" +
      "I3hk9vS5wyN4BI/gETyCR/AIHsEjq98Id3gEj+ARPIJH8AgewSN4ZPdj4g6P4BE8gkfwCB7BI3gEj1S/Ou7wCB7BI3gEj+ARPIJH8Mjp58kd" +
      "HsEjeASP4BE8gkfwCB65/Y65wyN4BI/gETyCR/AIHsEjrx98v/jxAfTgNaNDBAAA",
  ),
  vector(
    "gzip",
    "gzip with a file name in the header",
    a,
    "H4sICO8fDWsAA2EAHdPLEQUhDAPBu6JBAgzkn9iO9+56n2lhRVNLW6WjqycP2XLkKS95yyUf+cpPGYqVKFNZylZKOcpVnubQtCYfOTWX5tYs" +
      "zaN5NZ/W0LJWtPjGpbW1SutoXa2nPbStHe2pzQ/a2qV9tK/2Uw2VVVFN1VLxe0t1VFf1dIaOdaIzdZbO1uHvHJ2r83SHrnWjO3WX7tYtXf7t" +
      "1X16Q8960Zt6S2/rld7RI0bXIMegxyDIoMggyaDJIMqgyiDL4O7Pxl2H63Kdrtt1vK7X+ehnAjrdlzsamoimosloOpqQpqRJaVp6NgR35DQ9" +
      "TVBT1CQ1TU1UU9Vk9Wox7ihr0pq2Jq6pa/KaviawKezdtNwR2VQ2mU1nE9qUNqlNaxPb1Rvgjt4muClukpvmJrqpbrKb7j49Fu5Ib9qb+Ka+" +
      "yW/6GwAjYAh8e1XcoWAYjIOBMBKGwlgYDKPh1/Pr/TFAPIJH8AgewSN4BI/gETziHip3eASP4BE8gkfwCB7pPfeg/0Vz15vuUfeqe9a96x42" +
      "HsEjeGT29LnDI3gEj+ARPIJH8AgewSOr3wh3eASP4BE8gkfwCB7BI3hk92PiDo/gETyCR/AIHsEjeASPVL867vAIHsEjeASP4BE8gkfwyOnn" +
      "yR0ewSN4BI/gETyCR/AIHrn9jrnDI3gEj+ARPIJH8AgewSOvH3y/+PEB9OA1o0MEAAA=",
  ),
  vector(
    "gzip",
    "two gzip members",
    ab,
    "H4sIAAAAAAAEAx3SyRXEIADD0LurwSJh6b+xUebOS0DfDZl58mZl5+SmI21KOtMnfdOV7vSkN4zQQJjhCW9YYYcTbubIbKafnJlP5pu5Mnfm" +
      "ybx5Rp7mIY9/fPK8eVaenefkuXlH3uYl78zrhd68K+/Oe/LerJHVLLJm1pPlfVfWzjpZN3tkN5vsmf1kv9k+Z2ef7JszcppDzsx5ct6cleNr" +
      "T87NHbnNJXfmPrlv7srducb4aphj2GMYZFhkmGTYZBhlWGWYZXjun81zX7iv3Jfua/fF++p9+exXA9aCNWFtWCPWijVj7VhD1pI1ZW1ZY9aa" +
      "NWftWYPWojVpbVqj1qo1a+1aw9ayNW1tW+PWujVv7VsD18I1cW1cI9fKNXPtXEPX0jV1bV1j19o1d+1dg9fiNXltXqPX6jV77V7D1/I1fW1f" +
      "49f6NX/tXwGqQCWoBhWhKlSG6lAhqkSlqBYVo2pUjuqBHuiBHuiBHuiBHuiBHuiBHrhj9EAP9EAP9EAP9ODb8zfo/6I99236G/W36m/W366/" +
      "YeuBHuiBHuiBHuiBHuiBHuiBHuiBHuiBHuiBHuiBHuiBHuiBHuiBHuiBHuiBHuiBHuiBHuiBHuiBHuiBHuiBHuiBHuiBHuiBHuiBHuiBHuiB" +
      "HuiBHuiBHuiBHuiBHuiBHuiBHuiBHuiBHugxx/gB9OA1o0MEAAAfiwgAAAAAAAID7cahDQBACASwVX61M29I8GzPHCStanoqv/IiIiIiIiIi" +
      "IiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIi" +
      "IiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIi" +
      "IiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIi" +
      "IiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIi" +
      "IiIiIiIiIiIiIiIiIiIiIiIiF7KPty8PIL8CAA==",
  ),
  vector(
    "zstd",
    "zstd from a pipe, without content size and checksum",
    a,
    "KLUv/QBYVQ4A6kP8Bgmw6yRJiHBSmHVsAGsAawByx92bN9xnm1022WOLHXZt2mBfbXXVVE8tddStWUN9tNFFEz200EGXJg30zTbXTPPMMsfc" +
      "mTPMJ5tcMskjixxyZcogX2xxxRRPLHHEjRlDfN16derTpUdvZ4d+3Hhx4sOFBy8nB37bNT3LcWdciAfxEidxIH7DbXgNp+EzXIbH8A7ncBh+" +
      "wk14CSfhI1yEh/AKp3AQfsEteAWn4BNcgkfwBmdwCH7lVl7lVD7lUh7lLWc5lB+5kRc5kQ+5kAd5yckPuAEv4AR8gAvwAF7gBA7A77a7brrn" +
      "Dr3RGR2iX7u1Vzu1T7u0R3vb2Q7tx27sxU7swy7swV52sgP7QTfoBZ2gD3SBHtALndAB+h2343Wcjs9xOR7He5zH4fgZN+NlnIyPcTEexmuc" +
      "xsH4FbfiVZyKT3EpHsVbnMWh+BE34kWciA8FAPFdt+t1na7Pdbke13ud1+H6WTfrZZ2sj3WxHtZrndbB+lW36lWdqk91qR7VW53VofpRN+pF" +
      "nagPdaEe1Eud1IH6TbfpNZ2mz3SZHtM7ndNh+kk36SWdpI90kR7SK53SQfpFt+gVnaJPdIkeEQEASTrCmgI=",
  ),
  vector(
    "zstd",
    "zstd with content size and checksum",
    a,
    "KLUv/WRDA4UPAJa8ZAmw6yRJiHBSmHVgAGEAYACLHXZt2mBfbXXVVE8tddStWUN9tNFFEz200EGXJg30zTbXTPPMMsfcmTPMJ5tcMskjixxy" +
      "ZcogX2xxxRRPLHHEjRlDfN16derTpUdvZ4d+3Hhx4sOFBy8nB37bNT3LcWckDsRvuA2v4TR8hsfwDudwGH7CTXgJJ+EjXIRXOIWD8AtuwSs4" +
      "BZ/gEjyCMzgEv3Irr3Iqn3Ipj/KWQ/mRkx9wA17ACfgAF+ABvMAJHIDfbXfddM8td9y9ecN9ttllkz0WFZ2iT3SJHtEZHaJfO7W3G3uxE/uw" +
      "C3uwl53sB92gF3SCPtAFekAvdEKH43Wcjs9xOR7He5zH4fgZN+NkfIyL8TBe4zQOxq+4Fa/iU1yKR/EWZ3EofsSNeBEn4kI8iJd4APFdt+t1" +
      "na7Pdbke13ud1+H6WTfrZH2si/WwXuu0DtavulWv6lNdqkf1Vmd1qH7UjXpRJ+pDXagH9VIndaB+0216TafpMz2mdzqnw/STbtJLOkkf6SI9" +
      "pFc6pYP0i27RAx4AWC6iUKJFBAVVxOlPxHMTEbaJoGwiAJsIcE3EVBMH1ISBpwlzYCWsBgmzECSsIIswDRjCNA6IaXivadSuaTCu6bE1EVrb" +
      "oDUDWoufNfBZg541wLM2JOm0awo81iF/",
  ),
  vector("zstd", "zstd -19", b, "KLUv/aQgvwIAjAAASGFueWthZmthIAEA9P/MyxFFAAAAAQAdP+oFCFWISpA="),
  vector(
    "zstd",
    "two zstd frames",
    ab,
    "KLUv/QBYVQ4A6kP8Bgmw6yRJiHBSmHVsAGsAawByx92bN9xnm1022WOLHXZt2mBfbXXVVE8tddStWUN9tNFFEz200EGXJg30zTbXTPPMMsfc" +
      "mTPMJ5tcMskjixxyZcogX2xxxRRPLHHEjRlDfN16derTpUdvZ4d+3Hhx4sOFBy8nB37bNT3LcWdciAfxEidxIH7DbXgNp+EzXIbH8A7ncBh+" +
      "wk14CSfhI1yEh/AKp3AQfsEteAWn4BNcgkfwBmdwCH7lVl7lVD7lUh7lLWc5lB+5kRc5kQ+5kAd5yckPuAEv4AR8gAvwAF7gBA7A77a7brrn" +
      "Dr3RGR2iX7u1Vzu1T7u0R3vb2Q7tx27sxU7swy7swV52sgP7QTfoBZ2gD3SBHtALndAB+h2343Wcjs9xOR7He5zH4fgZN+NlnIyPcTEexmuc" +
      "xsH4FbfiVZyKT3EpHsVbnMWh+BE34kWciA8FAPFdt+t1na7Pdbke13ud1+H6WTfrZZ2sj3WxHtZrndbB+lW36lWdqk91qR7VW53VofpRN+pF" +
      "nagPdaEe1Eud1IH6TbfpNZ2mz3SZHtM7ndNh+kk36SWdpI90kR7SK53SQfpFt+gVnaJPdIkeEQEASTrCmgIotS/9pCC/AgCMAABIYW55a2Fm" +
      "a2EgAQD0/8zLEU0AAAhmAQAcPx0IAVWISpA=",
  ),
  vector(
    "zstd",
    "zstd of zeros, in RLE blocks",
    zeros,
    "KLUv/QRYVAAAEAAAAQD7/znAAgIAEAACABAAAgAQAAIAEAACABAAAgAQAAIAEAACABAAAgAQAAIAEAACABAAAgAQAAIAEAACABAAAgAQAAIA" +
      "EAACABAAAgAQAAIAEAACABAAAgAQAAM2DgADya/W",
  ),
  vector(
    "zstd",
    "zstd --fast=5, all literals",
    a,
    "KLUv/WBDAxkiADEKMgozCjQKNQo2CjcKOAo5CjEwCjExCjEyCjEzCjE0CjE1CjE2CjE3CjE4CjE5CjIwCjIxCjIyCjIzCjI0CjI1CjI2CjI3" +
      "CjI4CjI5CjMwCjMxCjMyCjMzCjM0CjM1CjM2CjM3CjM4CjM5CjQwCjQxCjQyCjQzCjQ0CjQ1CjQ2CjQ3CjQ4CjQ5CjUwCjUxCjUyCjUzCjU0" +
      "CjU1CjU2CjU3CjU4CjU5CjYwCjYxCjYyCjYzCjY0CjY1CjY2CjY3CjY4CjY5CjcwCjcxCjcyCjczCjc0Cjc1Cjc2Cjc3Cjc4Cjc5CjgwCjgx" +
      "CjgyCjgzCjg0Cjg1Cjg2Cjg3Cjg4Cjg5CjkwCjkxCjkyCjkzCjk0Cjk1Cjk2Cjk3Cjk4Cjk5CjEwMAoxMDEKMTAyCjEwMwoxMDQKMTA1CjEw" +
      "NgoxMDcKMTA4CjEwOQoxMTAKMTExCjExMgoxMTMKMTE0CjExNQoxMTYKMTE3CjExOAoxMTkKMTIwCjEyMQoxMjIKMTIzCjEyNAoxMjUKMTI2" +
      "CjEyNwoxMjgKMTI5CjEzMAoxMzEKMTMyCjEzMwoxMzQKMTM1CjEzNgoxMzcKMTM4CjEzOQoxNDAKMTQxCjE0MgoxNDMKMTQ0CjE0NQoxNDYK" +
      "MTQ3CjE0OAoxNDkKMTUwCjE1MQoxNTIKMTUzCjE1NAoxNTUKMTU2CjE1NwoxNTgKMTU5CjE2MAoxNjEKMTYyCjE2MwoxNjQKMTY1CjE2Ngox" +
      "NjcKMTY4CjE2OQoxNzAKMTcxCjE3MgoxNzMKMTc0CjE3NQoxNzYKMTc3CjE3OAoxNzkKMTgwCjE4MQoxODIKMTgzCjE4NAoxODUKMTg2CjE4" +
      "NwoxODgKMTg5CjE5MAoxOTEKMTkyCjE5MwoxOTQKMTk1CjE5NgoxOTcKMTk4CjE5OQoyMDAKMjAxCjIwMgoyMDMKMjA0CjIwNQoyMDYKMjA3" +
      "CjIwOAoyMDkKMjEwCjIxMQoyMTIKMjEzCjIxNAoyMTUKMjE2CjIxNwoyMTgKMjE5CjIyMAoyMjEKMjIyCjIyMwoyMjQKMjI1CjIyNgoyMjcK" +
      "MjI4CjIyOQoyMzAKMjMxCjIzMgoyMzMKMjM0CjIzNQoyMzYKMjM3CjIzOAoyMzkKMjQwCjI0MQoyNDIKMjQzCjI0NAoyNDUKMjQ2CjI0Nwoy" +
      "NDgKMjQ5CjI1MAoyNTEKMjUyCjI1MwoyNTQKMjU1CjI1NgoyNTcKMjU4CjI1OQoyNjAKMjYxCjI2MgoyNjMKMjY0CjI2NQoyNjYKMjY3CjI2" +
      "OAoyNjkKMjcwCjI3MQoyNzIKMjczCjI3NAoyNzUKMjc2CjI3NwoyNzgKMjc5CjI4MAoyODEKMjgyCjI4MwoyODQKMjg1CjI4NgoyODcKMjg4" +
      "CjI4OQoyOTAKMjkxCjI5MgoyOTMKMjk0CjI5NQoyOTYKMjk3CjI5OAoyOTkKMzAw",
  ),
  vector(
    "lz4",
    "lz4, nothing to gain but in a frame",
    a,
    "BCJNGGRApzQEAADx/zsxCjIKMwo0CjUKNgo3CjgKOQoxMAoxMQoxMgoxMwoxNAoxNQoxNgoxNwoxOAoxOQoyMAoyMQoyMgoyMwoyNAoyNQoy" +
      "NgoyNwoyOAoyOQozMAozMQozMgozMwozNAozNQozNgozNwozOAozOQo0MAo0MQo0Mgo0Mwo0NAo0NQo0Ngo0Nwo0OAo0OQo1MAo1MQo1Mgo1" +
      "Mwo1NAo1NQo1Ngo1Nwo1OAo1OQo2MAo2MQo2Mgo2Mwo2NAo2NQo2Ngo2Nwo2OAo2OQo3MAo3MQo3Mgo3Mwo3NAo3NQo3Ngo3Nwo3OAo3OQo4" +
      "MAo4MQo4Mgo4Mwo4NAo4NQo4Ngo4Nwo4OAo4OQo5MAo5MQo5Mgo5Mwo5NAo5NQo5Ngo5Nwo5OAo5OQoxMDAKMTAxCjEwMgoxMDMKMTA0CjEw" +
      "NQoxMDYKMTA3CjEwOAoxMDkKMTcBMDEKMTkBADoBADsBADwBAD0BAD4BAD8BkDE5CjEyMAoxMmAB8BkyCjEyMwoxMjQKMTI1CjEyNgoxMjcK" +
      "MTI4CjEyOQoxMzAKMTMxCjEziQHwGTMKMTM0CjEzNQoxMzYKMTM3CjEzOAoxMzkKMTQwCjE0MQoxNDIKMTSyAfAZNAoxNDUKMTQ2CjE0Nwox" +
      "NDgKMTQ5CjE1MAoxNTEKMTUyCjE1MwoxNdsB8Bk1CjE1NgoxNTcKMTU4CjE1OQoxNjAKMTYxCjE2MgoxNjMKMTY0CjE2BALwGTYKMTY3CjE2" +
      "OAoxNjkKMTcwCjE3MQoxNzIKMTczCjE3NAoxNzUKMTctAvAZNwoxNzgKMTc5CjE4MAoxODEKMTgyCjE4MwoxODQKMTg1CjE4NgoxOFYC8Bk4" +
      "CjE4OQoxOTAKMTkxCjE5MgoxOTMKMTk0CjE5NQoxOTYKMTk3CjE5fwIAgALwGTAKMjAxCjIwMgoyMDMKMjA0CjIwNQoyMDYKMjA3CjIwOAoy" +
      "MDkKMjGpAvAQMQoyMTIKMjEzCjIxNAoyMTUKMjE2CjIxNwoyMTgKMtACANECAdICMDIKMtQCANUCANYCgDI2CjIyNwoy2QLQMjkKMjMwCjIz" +
      "MQoyM/sC8BkzCjIzNAoyMzUKMjM2CjIzNwoyMzgKMjM5CjI0MAoyNDEKMjQyCjI0JAPwGTQKMjQ1CjI0NgoyNDcKMjQ4CjI0OQoyNTAKMjUx" +
      "CjI1MgoyNTMKMjVNA/AZNQoyNTYKMjU3CjI1OAoyNTkKMjYwCjI2MQoyNjIKMjYzCjI2NAoyNnYD8EU2CjI2NwoyNjgKMjY5CjI3MAoyNzEK" +
      "MjcyCjI3MwoyNzQKMjc1CjI3NgoyNzcKMjc4CjI3OQoyODAKMjgxCjI4MgoyODMKMjg0CjI4NQoyODYKMjjIA/AiOAoyODkKMjkwCjI5MQoy" +
      "OTIKMjkzCjI5NAoyOTUKMjk2CjI5NwoyOTgKMjk5CjMwMAAAAACyx6Gg",
  ),
  vector(
    "lz4",
    "lz4 -B4 -BD, linked blocks",
    b,
    "BCJNGERAXhMBAACfYW55a2Fma2EgCQD/////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////31B5a2FmawoBAAAP+f//////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////6FBhbnlrYdIAAACfZmthIGFu" +
      "eWthCQD/////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "/////////////////////////////////////////////75QYWZrYSAAAAAAgh7V3g==",
  ),
  vector(
    "lz4",
    "lz4 -B7 -BD, one linked block",
    b,
    "BCJNGGRQCNQCAACfYW55a2Fma2EgCQD/////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "///////////////////////////////////////////////////////////////////////////////////////////////////////////A" +
      "UGFma2EgAAAAAIIe1d4=",
  ),
  vector(
    "lz4",
    "lz4 -B5 -BX, block checksums",
    b,
    "BCJNGHRQ/9QCAACfYW55a2Fma2EgCQD/////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "///////////////////////////////////////////////////////////////////////////////////////////////////////////A" +
      "UGFma2EgAtJ9BQAAAACCHtXe",
  ),
  vector(
    "lz4",
    "lz4 -9 --content-size",
    b,
    "BCJNGGxQIL8CAAAAAACh1AIAAJ9hbnlrYWZrYSAJAP//////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "/////////8BQYWZrYSAAAAAAgh7V3g==",
  ),
  vector(
    "lz4",
    "two lz4 frames, one without checksum",
    ab,
    "BCJNGGRApzQEAADx/zsxCjIKMwo0CjUKNgo3CjgKOQoxMAoxMQoxMgoxMwoxNAoxNQoxNgoxNwoxOAoxOQoyMAoyMQoyMgoyMwoyNAoyNQoy" +
      "NgoyNwoyOAoyOQozMAozMQozMgozMwozNAozNQozNgozNwozOAozOQo0MAo0MQo0Mgo0Mwo0NAo0NQo0Ngo0Nwo0OAo0OQo1MAo1MQo1Mgo1" +
      "Mwo1NAo1NQo1Ngo1Nwo1OAo1OQo2MAo2MQo2Mgo2Mwo2NAo2NQo2Ngo2Nwo2OAo2OQo3MAo3MQo3Mgo3Mwo3NAo3NQo3Ngo3Nwo3OAo3OQo4" +
      "MAo4MQo4Mgo4Mwo4NAo4NQo4Ngo4Nwo4OAo4OQo5MAo5MQo5Mgo5Mwo5NAo5NQo5Ngo5Nwo5OAo5OQoxMDAKMTAxCjEwMgoxMDMKMTA0CjEw" +
      "NQoxMDYKMTA3CjEwOAoxMDkKMTcBMDEKMTkBADoBADsBADwBAD0BAD4BAD8BkDE5CjEyMAoxMmAB8BkyCjEyMwoxMjQKMTI1CjEyNgoxMjcK" +
      "MTI4CjEyOQoxMzAKMTMxCjEziQHwGTMKMTM0CjEzNQoxMzYKMTM3CjEzOAoxMzkKMTQwCjE0MQoxNDIKMTSyAfAZNAoxNDUKMTQ2CjE0Nwox" +
      "NDgKMTQ5CjE1MAoxNTEKMTUyCjE1MwoxNdsB8Bk1CjE1NgoxNTcKMTU4CjE1OQoxNjAKMTYxCjE2MgoxNjMKMTY0CjE2BALwGTYKMTY3CjE2" +
      "OAoxNjkKMTcwCjE3MQoxNzIKMTczCjE3NAoxNzUKMTctAvAZNwoxNzgKMTc5CjE4MAoxODEKMTgyCjE4MwoxODQKMTg1CjE4NgoxOFYC8Bk4" +
      "CjE4OQoxOTAKMTkxCjE5MgoxOTMKMTk0CjE5NQoxOTYKMTk3CjE5fwIAgALwGTAKMjAxCjIwMgoyMDMKMjA0CjIwNQoyMDYKMjA3CjIwOAoy" +
      "MDkKMjGpAvAQMQoyMTIKMjEzCjIxNAoyMTUKMjE2CjIxNwoyMTgKMtACANECAdICMDIKMtQCANUCANYCgDI2CjIyNwoy2QLQMjkKMjMwCjIz" +
      "MQoyM/sC8BkzCjIzNAoyMzUKMjM2CjIzNwoyMzgKMjM5CjI0MAoyNDEKMjQyCjI0JAPwGTQKMjQ1CjI0NgoyNDcKMjQ4CjI0OQoyNTAKMjUx" +
      "CjI1MgoyNTMKMjVNA/AZNQoyNTYKMjU3CjI1OAoyNTkKMjYwCjI2MQoyNjIKMjYzCjI2NAoyNnYD8EU2CjI2NwoyNjgKMjY5CjI3MAoyNzEK" +
      "MjcyCjI3MwoyNzQKMjc1CjI3NgoyNzcKMjc4CjI3OQoyODAKMjgxCjI4MgoyODMKMjg0CjI4NQoyODYKMjjIA/AiOAoyODkKMjkwCjI5MQoy" +
      "OTIKMjkzCjI5NAoyOTUKMjk2CjI5NwoyOTgKMjk5CjMwMAAAAACyx6GgBCJNGGBQ+9QCAACfYW55a2Fma2EgCQD/////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "////////////////////////////////////////////////////////////////////////////////////////////////////////////" +
      "///////////////////////////////////////////////////////AUGFma2EgAAAAAA==",
  ),
  vector(
    "snappy",
    "snappy-java, a raw block",
    a,
    "wwj0SAExCjIKMwo0CjUKNgo3CjgKOQoxMAoxMQoxMgoxMwoxNAoxNQoxNgoxNwoxOAoxOQoyMAoyMQoyMgoyMwoyNAoyNQoyNgoyNwoyOAoy" +
      "OQozMAozMQozMgozMwozNAozNQozNgozNwozOAozOQo0MAo0MQo0Mgo0Mwo0NAo0NQo0Ngo0Nwo0OAo0OQo1MAo1MQo1Mgo1Mwo1NAo1NQo1" +
      "Ngo1Nwo1OAo1OQo2MAo2MQo2Mgo2Mwo2NAo2NQo2Ngo2Nwo2OAo2OQo3MAo3MQo3Mgo3Mwo3NAo3NQo3Ngo3Nwo3OAo3OQo4MAo4MQo4Mgo4" +
      "Mwo4NAo4NQo4Ngo4Nwo4OAo4OQo5MAo5MQo5Mgo5Mwo5NAo5NQo5Ngo5Nwo5OAo5OQoxMDAKMTAxCjEwMgoxMDMKMTA0CjEwNQoxMDYKMTA3" +
      "CjEwOAoxMDkKMSU3CDEKMSE5ITohOyE8DDE2CjEhPjAxOAoxMTkKMTIwCjEyIWDw1zIKMTIzCjEyNAoxMjUKMTI2CjEyNwoxMjgKMTI5CjEz" +
      "MAoxMzEKMTMyCjEzMwoxMzQKMTM1CjEzNgoxMzcKMTM4CjEzOQoxNDAKMTQxCjE0MgoxNDMKMTQ0CjE0NQoxNDYKMTQ3CjE0OAoxNDkKMTUw" +
      "CjE1MQoxNTIKMTUzCjE1NAoxNTUKMTU2CjE1NwoxNTgKMTU5CjE2MAoxNjEKMTYyCjE2MwoxNjQKMTY1CjE2NgoxNjcKMTY4CjE2OQoxNzAK" +
      "MTcxCjE3MgoxNzMKMTc0CjE3NQoxN0Et8LY3CjE3OAoxNzkKMTgwCjE4MQoxODIKMTgzCjE4NAoxODUKMTg2CjE4NwoxODgKMTg5CjE5MAox" +
      "OTEKMTkyCjE5MwoxOTQKMTk1CjE5NgoxOTcKMTk4CjE5OQoyMDAKMjAxCjIwMgoyMDMKMjA0CjIwNQoyMDYKMjA3CjIwOAoyMDkKMjEwCjIx" +
      "MQoyMTIKMjEzCjIxNAoyMTUKMjE2CjIxNwoyMTgKMjE5CjIyMAoyMjEKMjIyCjJB1AwyNAoyQdZgMjYKMjI3CjIyOAoyMjkKMjMwCjIzMQoy" +
      "M0H79AwBMwoyMzQKMjM1CjIzNgoyMzcKMjM4CjIzOQoyNDAKMjQxCjI0MgoyNDMKMjQ0CjI0NQoyNDYKMjQ3CjI0OAoyNDkKMjUwCjI1MQoy" +
      "NTIKMjUzCjI1NAoyNTUKMjU2CjI1NwoyNTgKMjU5CjI2MAoyNjEKMjYyCjI2MwoyNjQKMjY1CjI2NgoyNjcKMjY4CjI2OQoyNzAKMjcxCjI3" +
      "MgoyNzMKMjc0CjI3NQoyNzYKMjc3CjI3OAoyNzkKMjgwCjI4MQoyODIKMjgzCjI4NAoyODUKMjg2CjI4NwoyODgKMjg5CjI5MAoyOTEKMjky" +
      "CjI5MwoyOTQKMjk1CjI5NgoyOTcKMjk4CjI5OQozMDA=",
  ),
  vector(
    "snappy",
    "snappy-java, its stream format",
    a,
    "glNOQVBQWQAAAAABAAAAAQAABD3DCPRIATEKMgozCjQKNQo2CjcKOAo5CjEwCjExCjEyCjEzCjE0CjE1CjE2CjE3CjE4CjE5CjIwCjIxCjIy" +
      "CjIzCjI0CjI1CjI2CjI3CjI4CjI5CjMwCjMxCjMyCjMzCjM0CjM1CjM2CjM3CjM4CjM5CjQwCjQxCjQyCjQzCjQ0CjQ1CjQ2CjQ3CjQ4CjQ5" +
      "CjUwCjUxCjUyCjUzCjU0CjU1CjU2CjU3CjU4CjU5CjYwCjYxCjYyCjYzCjY0CjY1CjY2CjY3CjY4CjY5CjcwCjcxCjcyCjczCjc0Cjc1Cjc2" +
      "Cjc3Cjc4Cjc5CjgwCjgxCjgyCjgzCjg0Cjg1Cjg2Cjg3Cjg4Cjg5CjkwCjkxCjkyCjkzCjk0Cjk1Cjk2Cjk3Cjk4Cjk5CjEwMAoxMDEKMTAy" +
      "CjEwMwoxMDQKMTA1CjEwNgoxMDcKMTA4CjEwOQoxJTcIMQoxITkhOiE7ITwMMTYKMSE+MDE4CjExOQoxMjAKMTIhYPDXMgoxMjMKMTI0CjEy" +
      "NQoxMjYKMTI3CjEyOAoxMjkKMTMwCjEzMQoxMzIKMTMzCjEzNAoxMzUKMTM2CjEzNwoxMzgKMTM5CjE0MAoxNDEKMTQyCjE0MwoxNDQKMTQ1" +
      "CjE0NgoxNDcKMTQ4CjE0OQoxNTAKMTUxCjE1MgoxNTMKMTU0CjE1NQoxNTYKMTU3CjE1OAoxNTkKMTYwCjE2MQoxNjIKMTYzCjE2NAoxNjUK" +
      "MTY2CjE2NwoxNjgKMTY5CjE3MAoxNzEKMTcyCjE3MwoxNzQKMTc1CjE3QS3wtjcKMTc4CjE3OQoxODAKMTgxCjE4MgoxODMKMTg0CjE4NQox" +
      "ODYKMTg3CjE4OAoxODkKMTkwCjE5MQoxOTIKMTkzCjE5NAoxOTUKMTk2CjE5NwoxOTgKMTk5CjIwMAoyMDEKMjAyCjIwMwoyMDQKMjA1CjIw" +
      "NgoyMDcKMjA4CjIwOQoyMTAKMjExCjIxMgoyMTMKMjE0CjIxNQoyMTYKMjE3CjIxOAoyMTkKMjIwCjIyMQoyMjIKMkHUDDI0CjJB1mAyNgoy" +
      "MjcKMjI4CjIyOQoyMzAKMjMxCjIzQfv0DAEzCjIzNAoyMzUKMjM2CjIzNwoyMzgKMjM5CjI0MAoyNDEKMjQyCjI0MwoyNDQKMjQ1CjI0Ngoy" +
      "NDcKMjQ4CjI0OQoyNTAKMjUxCjI1MgoyNTMKMjU0CjI1NQoyNTYKMjU3CjI1OAoyNTkKMjYwCjI2MQoyNjIKMjYzCjI2NAoyNjUKMjY2CjI2" +
      "NwoyNjgKMjY5CjI3MAoyNzEKMjcyCjI3MwoyNzQKMjc1CjI3NgoyNzcKMjc4CjI3OQoyODAKMjgxCjI4MgoyODMKMjg0CjI4NQoyODYKMjg3" +
      "CjI4OAoyODkKMjkwCjI5MQoyOTIKMjkzCjI5NAoyOTUKMjk2CjI5NwoyOTgKMjk5CjMwMA==",
  ),
];

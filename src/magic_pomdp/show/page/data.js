// Reading what is packed into the page: gzip of JSON, in which an array is {dtype, shape, data: base64}.
const Data = (() => {
  const KINDS = {
    "<f8": (buffer) => new Float64Array(buffer),
    "<f4": (buffer) => new Float32Array(buffer),
    "<u2": (buffer) => new Uint16Array(buffer),
    "<i8": (buffer) => Float64Array.from(new BigInt64Array(buffer), Number),
  };

  function bytes(text) {
    const characters = atob(text);
    const result = new Uint8Array(characters.length);
    for (let i = 0; i < result.length; i++) result[i] = characters.charCodeAt(i);
    return result;
  }

  /** An array of numbers in rows, whose first dimension is `length`. */
  class Numbers {
    constructor(values, shape) {
      this.values = values;
      this.shape = shape;
      this.length = shape[0];
      this.size = shape.slice(1).reduce((product, length) => product * length, 1);
    }
    /** All numbers of one entry of the first dimension, without copying. */
    row(index) {
      return this.values.subarray(index * this.size, (index + 1) * this.size);
    }
  }

  /** JSON with its arrays as Numbers. */
  function parse(text) {
    return JSON.parse(text, (_, value) =>
      value !== null && typeof value === "object" && "dtype" in value && "data" in value
        ? new Numbers(KINDS[value.dtype](bytes(value.data).buffer), value.shape)
        : value
    );
  }

  async function unpack(text) {
    const stream = new Blob([bytes(text.trim())]).stream().pipeThrough(new DecompressionStream("gzip"));
    return parse(await new Response(stream).text());
  }

  return { parse, unpack };
})();

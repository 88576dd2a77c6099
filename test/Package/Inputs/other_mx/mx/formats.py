ELEM_FORMATS = ("int8", "fp8_e4m3")
